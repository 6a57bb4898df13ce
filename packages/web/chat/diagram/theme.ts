/** The look of diagrams: the tokens of the page as variables of Mermaid's theme "base". */
import type { Inks } from "./protocol.ts";

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
