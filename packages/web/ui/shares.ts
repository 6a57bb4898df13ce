/** Shares, changes and short counts in words. Few views have them, so the first one does not load them. */
import { numbers } from "./intl.ts";

const compact = numbers({ notation: "compact", maximumFractionDigits: 1 });
const percent = numbers({ style: "percent", maximumFractionDigits: 1 });

/** "12.3K", where there is little room. */
export const shortCount = (value: number): string => compact.format(value);

/** "12.5%". */
export const shareText = (share: number): string => percent.format(share);

const change = numbers({
  style: "percent",
  maximumFractionDigits: 0,
  signDisplay: "exceptZero",
});

/** "+12% on the period before". Nothing where there is nothing to compare with. */
export function changeText(now: number | null, before: number | null): string {
  if (now === null || before === null || before === 0) return "";
  return `${change.format(now / before - 1)} on the period before`;
}
