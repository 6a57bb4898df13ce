/** Layers for a drawing of imports: a part is above everything that it imports, as far as there are no circles. */
import type { Imports } from "./imports.ts";

type Arrow = [from: string, to: string];

export interface Drawn {
  layers: string[][];
  /** The arrows down that no longer path implies. */
  down: Arrow[];
  /** The arrows up: each closes a circle. */
  up: Arrow[];
}

export function layered(imports: Imports): Drawn {
  const order = sortParts(imports);
  const place = new Map(order.map((part, i) => [part, i]));
  const isDown = ([from, to]: Arrow) => (place.get(from) ?? 0) < (place.get(to) ?? 0);
  const arrows = [...imports].flatMap(([from, targets]) => [...targets.keys()].map((to): Arrow => [from, to]));
  const below = new Map(order.map((part) => [part, new Set<string>()]));
  for (const [from, to] of arrows.filter(isDown)) below.get(from)?.add(to);
  const reached = new Map<string, Set<string>>();
  const depths = new Map<string, number>();
  for (const part of order.toReversed()) {
    const next = [...(below.get(part) ?? [])];
    reached.set(part, new Set(next.flatMap((other) => [other, ...(reached.get(other) ?? [])])));
    depths.set(part, Math.max(0, ...next.map((other) => (depths.get(other) ?? 0) + 1)));
  }
  const isImplied = ([from, to]: Arrow) =>
    [...(below.get(from) ?? [])].some((via) => via !== to && reached.get(via)?.has(to));
  const down = arrows.filter((arrow) => isDown(arrow) && !isImplied(arrow));
  const layers: string[][] = [];
  for (const part of order) (layers[depths.get(part) ?? 0] ??= []).push(part);
  return { layers: untangle(layers.toReversed(), down), down, up: arrows.filter((arrow) => !isDown(arrow)) };
}

/**
 * The parts, so that few imports point back: none where there are no circles. With circles, each part goes to its best
 * place until none has a better one.
 */
function sortParts(imports: Imports): string[] {
  let order = sortTopologically(imports);
  const listBack = (parts: string[]) => {
    const place = new Map(parts.map((part, i) => [part, i]));
    const isBack = (from: string, to: string) => (place.get(from) ?? 0) > (place.get(to) ?? 0);
    return [...imports].flatMap(([from, counts]) =>
      [...counts].map(([to, count]) => (isBack(from, to) ? 1_000 + count : 0)),
    );
  };
  const cost = (parts: string[]) => listBack(parts).reduce((sum, one) => sum + one, 0);
  for (let least = Infinity; cost(order) < least;) {
    least = cost(order);
    for (const part of imports.keys()) {
      const others = order.filter((other) => other !== part);
      const places = Array.from({ length: order.length }, (_, at) => others.toSpliced(at, 0, part));
      order = places.reduce((best, one) => (cost(one) < cost(best) ? one : best), order);
    }
  }
  return order;
}

/** Each part before what it imports, where there are no circles. */
function sortTopologically(imports: Imports): string[] {
  const visited = new Set<string>();
  const order: string[] = [];
  const visit = (part: string) => {
    if (visited.has(part)) return;
    visited.add(part);
    for (const other of imports.get(part)?.keys() ?? []) visit(other);
    order.unshift(part);
  };
  for (const part of [...imports.keys()].toReversed()) visit(part);
  return order;
}

/** Each layer in the order of what its parts are joined to, so that few arrows cross. */
function untangle(layers: string[][], arrows: Arrow[]): string[][] {
  const place = new Map<string, number>();
  const note = (layer: string[]) => layer.forEach((part, i) => place.set(part, (i + 1) / (layer.length + 1)));
  const computeWanted = (part: string): number => {
    const joined = arrows.flatMap(([from, to]) => (from === part ? [to] : to === part ? [from] : []));
    const sum = joined.reduce((total, other) => total + (place.get(other) ?? 0), 0);
    return joined.length > 0 ? sum / joined.length : (place.get(part) ?? 0);
  };
  layers.forEach(note);
  for (let pass = 0; pass < 8; pass += 1) {
    for (const layer of layers) {
      const places = new Map(layer.map((part) => [part, computeWanted(part)]));
      layer.sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0) || (a < b ? -1 : 1));
      note(layer);
    }
  }
  return layers;
}
