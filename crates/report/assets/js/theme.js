// The theme, light or dark: the choice of the system until the reader chooses.

import { byId } from "./dom.js";

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (darkSystem.matches ? "dark" : "light")) === "dark";

export function drawTheme() {
  const button = byId("theme");
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
  };
  button.hidden = false;
  button.setAttribute("aria-label", "Switch between light and dark");
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("syncscope-theme", theme);
    } catch (error) {
      /* browsers may deny storage to a page from a file */
    }
    label();
  });
  darkSystem.addEventListener("change", label);
  label();
}
