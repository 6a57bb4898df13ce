/**
 * Draws Mermaid diagrams for the page. It runs in a sandboxed frame: Mermaid writes style elements and style attributes, which
 * the page's Content-Security-Policy refuses, and a frame with an opaque origin cannot read the page's session.
 */
import mermaid from "mermaid";
import { describeFault } from "./fault.ts";
import type { Drawing, DrawRequest } from "./protocol.ts";
import { FONT, buildTheme } from "./theme.ts";

/** Characters of a diagram's source. Mermaid draws a longer one as an error. */
const MOST_TEXT = 20_000;

addEventListener("message", ({ source, data, ports: [port] }: MessageEvent<DrawRequest>) => {
  if (source === parent && port) void draw(data).then((drawing) => port.postMessage(drawing));
});

async function draw({ text, dark, inks }: DrawRequest): Promise<Drawing> {
  if (text.length > MOST_TEXT) return { fault: `The source is longer than ${MOST_TEXT} characters.` };
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    maxTextSize: MOST_TEXT,
    deterministicIds: true,
    htmlLabels: false,
    fontFamily: FONT,
    look: "classic",
    theme: "base",
    themeVariables: buildTheme(inks, dark),
  });
  try {
    const { svg } = await mermaid.render("diagram", text);
    return parseMarkup(svg);
  } catch (error) {
    return { fault: describeFault(error, text) };
  }
}

/** The markup as an SVG document with a size of its own: an image has no other. */
function parseMarkup(markup: string): Drawing {
  const element = new DOMParser().parseFromString(markup, "text/html").querySelector("svg");
  const { width, height } = element?.viewBox.baseVal ?? { width: 0, height: 0 };
  if (!element || width === 0 || height === 0) return { fault: "The diagram is empty." };
  element.setAttribute("width", String(width));
  element.setAttribute("height", String(height));
  element.style.removeProperty("max-width");
  return {
    svg: new XMLSerializer().serializeToString(element),
    width,
    height,
    title: element.querySelector(":scope > title")?.textContent ?? "",
  };
}
