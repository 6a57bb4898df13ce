/**
 * Draws Mermaid diagrams for the page. It runs in a sandboxed frame: Mermaid writes style elements and style attributes, which
 * the page's Content-Security-Policy refuses, and a frame with an opaque origin cannot read the page's session.
 */
import mermaid from "mermaid";
import { describeFault } from "./fault.ts";
import type { Drawing, DrawRequest, Inks } from "./protocol.ts";

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

// The look of diagrams: the tokens of the page as variables of Mermaid's theme "base".

/** Fonts of the system: an SVG in an image loads no font of the page. */
export const FONT = 'Arial, "Liberation Sans", "DejaVu Sans", sans-serif';

type Theme = Record<string, unknown>;

export function buildTheme(inks: Inks, dark: boolean): Theme {
  const strong = [inks["--water"], inks["--brass"], inks["--green"], inks["--red"], inks["--text-3"]];
  const soft = [inks["--water-soft"], inks["--brass-soft"], inks["--hover"], inks["--red-soft"]];
  return {
    ...numbered("pie", 1, strong),
    pieOpacity: 1,
    pieStrokeColor: inks["--surface"],
    pieOuterStrokeColor: inks["--surface"],
    pieSectionTextColor: inks["--surface"],
    ...numbered("git", 0, strong),
    ...numbered("gitBranchLabel", 0, [inks["--surface"]]),
    ...numbered("cScale", 0, soft),
    ...numbered("cScaleLabel", 0, [inks["--text"]]),
    ...numbered("cScaleInv", 0, strong),
    xyChart: { plotColorPalette: strong.map(toHex).join(",") },
    darkMode: dark,
    fontFamily: FONT,
    fontSize: "14px",
    background: inks["--surface"],
    primaryColor: inks["--sunken"],
    primaryBorderColor: inks["--control"],
    primaryTextColor: inks["--text"],
    secondaryColor: inks["--water-soft"],
    secondaryBorderColor: inks["--water"],
    secondaryTextColor: inks["--text"],
    tertiaryColor: inks["--brass-soft"],
    tertiaryBorderColor: inks["--brass"],
    tertiaryTextColor: inks["--text"],
    textColor: inks["--text"],
    titleColor: inks["--text"],
    lineColor: inks["--text-3"],
    edgeLabelBackground: inks["--surface"],
    clusterBkg: inks["--surface"],
    clusterBorder: inks["--line"],
    noteBkgColor: inks["--brass-soft"],
    noteBorderColor: inks["--brass"],
    noteTextColor: inks["--text"],
    errorBkgColor: inks["--red-soft"],
    errorTextColor: inks["--red"],
  };
}

/** The variables `<name><first>` to `<name><first + 11>`: Mermaid computes those that are left out from the primary color. */
function numbered(name: string, first: number, colors: string[]): Theme {
  return Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`${name}${first + i}`, colors[i % colors.length]]));
}

/** `rgb(1, 2, 3)` without commas, at which the palette of charts is split. */
function toHex(rgb: string): string {
  const parts = rgb.match(/\d+/g)?.slice(0, 3) ?? [];
  return `#${parts.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}
