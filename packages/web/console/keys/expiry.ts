/** When a key ends: what a person chooses, and how it is said. */

const DAY = 86_400_000;

export const PERIODS = [
  { key: "30", name: "In 30 days" },
  { key: "90", name: "In 90 days" },
  { key: "365", name: "In a year" },
  { key: "never", name: "Never" },
] as const;

/** The end of a key that is made now, as the API takes it. Null: never. */
export function expiryTime(period: string, now: number): string | null {
  return period === "never" ? null : new Date(now + Number(period) * DAY).toISOString();
}

/** "never", "expired", "in 5 h", "in 12 days". */
export function expiryText(expires: string | null, now: number): string {
  if (expires === null) return "never";
  const left = Date.parse(expires) - now;
  if (left <= 0) return "expired";
  if (left < 3_600_000) return "in under 1 h";
  if (left < 2 * DAY) return `in ${Math.floor(left / 3_600_000)} h`;
  return `in ${Math.floor(left / DAY)} days`;
}

/** Networks as a person types them: separated by commas, spaces or lines. Null: from anywhere. */
export function parseNetworks(text: string): string[] | null {
  const networks = text.split(/[\s,]+/).filter((part) => part !== "");
  return networks.length === 0 ? null : networks;
}
