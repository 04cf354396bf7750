// What goes wrong in a script is written where a test, or a curious reader, finds it.
(function () {
  "use strict";
  const root = document.documentElement;
  const record = (text) => {
    root.dataset.errors = (root.dataset.errors || "") + text + "; ";
  };
  window.addEventListener("error", (event) => record(event.message || "error"));
  window.addEventListener("unhandledrejection", (event) => record(String(event.reason)));
  // The theme is set before anything is painted.
  const asked = /theme=(light|dark)/.exec(location.hash);
  let kept = null;
  try {
    kept = localStorage.getItem("syncscope-theme");
  } catch (error) {
    kept = null;
  }
  const theme = asked ? asked[1] : kept;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
})();
