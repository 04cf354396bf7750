// Records the errors of all scripts in an attribute of the root element, where the tests read them.
(function () {
  "use strict";
  const root = document.documentElement;
  const record = (text) => {
    root.dataset.errors = (root.dataset.errors || "") + text + "; ";
  };
  window.addEventListener("error", (event) => record(event.message || "error"));
  window.addEventListener("unhandledrejection", (event) => record(String(event.reason)));
  // The theme is set before the first paint.
  const requested = /theme=(light|dark)/.exec(location.hash);
  let stored = null;
  try {
    stored = localStorage.getItem("syncscope-theme");
  } catch (error) {
    stored = null;
  }
  const theme = requested ? requested[1] : stored;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
})();
