/** The place of a run in its trace, as SDKs write it. */
export function toDottedOrder(start: number, id: string, above?: string): string {
  const stamp = new Date(Math.floor(start / 1000)).toISOString().replaceAll(/[-:.Z]/g, "");
  const own = `${stamp}${String(start % 1000).padStart(3, "0")}Z${id}`;
  return above === undefined ? own : `${above}.${own}`;
}
