// The parts of Observable Plot that the page uses; scripts/bundle-charts makes the bundle from it.
export { plot, line, areaY, areaX, dot, link, ruleX, ruleY, text, cell, rect, axisX, axisY, gridX, gridY } from "@observablehq/plot";
