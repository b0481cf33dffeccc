// What the page Ask takes of Observable Plot; static/asking/drawing.js draws with it.
export { areaY, barX, barY, dot, gridX, gridY, lineY, plot, rectY, ruleX, ruleY, text } from "@observablehq/plot";
