/** A drawing of layers as SVG, without styles: the content policy of the documentation allows none. */
import type { Drawn } from "./layers.ts";

const WIDTH = 1000;
const STEP = 96;
const HEIGHT = 30;
const boxWidth = (part: string) => part.length * 8 + 24;

export function svg({ layers, down, up }: Drawn, title: string): string {
  const at = new Map<string, { x: number; y: number }>();
  for (const [row, layer] of layers.entries()) {
    const taken = layer.reduce((sum, part) => sum + boxWidth(part), 0);
    const gap = (WIDTH - taken) / (layer.length + 1);
    let x = gap;
    for (const part of layer) {
      at.set(part, { x: x + boxWidth(part) / 2, y: 20 + row * STEP });
      x += boxWidth(part) + gap;
    }
  }
  const lines = [...down, ...up].map((arrow) => {
    const [from, to] = arrow;
    const [a, b] = [at.get(from), at.get(to)];
    if (!a || !b) throw new Error(`No box for ${from} or ${to}.`);
    const isUp = up.includes(arrow);
    const [start, end] = isUp ? [a.y, b.y + HEIGHT] : [a.y + HEIGHT, b.y];
    const bend = (start + end) / 2;
    const path = `M${round(a.x)} ${start} C${round(a.x)} ${bend} ${round(b.x)} ${bend} ${round(b.x)} ${end}`;
    return `<path d="${path}" fill="none" stroke="${isUp ? "#af2f30" : "#7f9093"}" marker-end="url(#head)"/>`;
  });
  const boxes = [...at].map(([part, { x, y }]) => {
    const width = boxWidth(part);
    return `<rect x="${round(x - width / 2)}" y="${y}" width="${width}" height="${HEIGHT}" rx="4" fill="#d2eef4" stroke="#05697d"/>
<text x="${round(x)}" y="${y + 20}" text-anchor="middle" font-family="monospace" font-size="13" fill="#182225">${part}</text>`;
  });
  const height = layers.length * STEP + 10;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>${title}</title>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#7f9093"/></marker></defs>
<rect width="${WIDTH}" height="${height}" fill="#fcfefe"/>
${[...lines, ...boxes].join("\n")}
</svg>
`;
}

const round = (value: number) => Math.round(value * 10) / 10;
