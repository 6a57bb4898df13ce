/** Messages between the page and the frame that draws diagrams. */

/** The tokens of the page that a diagram is drawn with. */
export const INKS = [
  "--surface",
  "--sunken",
  "--hover",
  "--line",
  "--control",
  "--text",
  "--text-2",
  "--text-3",
  "--water",
  "--on-water",
  "--water-soft",
  "--brass",
  "--brass-soft",
  "--red",
  "--red-soft",
  "--green",
] as const;

export type Inks = Record<(typeof INKS)[number], string>;

export interface DrawRequest {
  /** Mermaid source. */
  text: string;
  dark: boolean;
  inks: Inks;
}

/** An SVG document and its size in CSS pixels, or one sentence that says why there is none. */
export type Drawing = { svg: string; width: number; height: number; title: string } | { fault: string };
