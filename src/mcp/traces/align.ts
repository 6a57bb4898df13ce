/** The steps of two runs side by side. */
import { formatFigures, oneLine } from "./text.ts";
import type { TreeRun } from "../../protocols/mcp/traces/trace.ts";

/** A line for each step: in both runs, only in the first (-), only in the second (+), or with another status (~). */
export function alignSteps(before: TreeRun[], after: TreeRun[]): string[] {
  const length = commonLengths(before, after);
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, now] = [before[i], after[j]];
    if (old && now && isSame(old, now)) {
      const isEqual = old.status === now.status;
      lines.push(
        `${isEqual ? " " : "~"} ${alignmentKey(now)} ${formatFigures(old)} → ${formatFigures(now)}  ${now.id}`,
      );
      i++;
      j++;
    } else if (old && (!now || (length[i + 1]?.[j] ?? 0) >= (length[i]?.[j + 1] ?? 0))) {
      lines.push(`- ${alignmentKey(old)} ${formatFigures(old)}  ${old.id}`);
      i++;
    } else if (now) {
      lines.push(`+ ${alignmentKey(now)} ${formatFigures(now)}  ${now.id}`);
      j++;
    }
  }
  return lines;
}

/** The length of the longest common subsequence of what follows each pair of places. */
function commonLengths(before: TreeRun[], after: TreeRun[]): number[][] {
  const length = Array.from({ length: before.length + 1 }, () => after.map(() => 0));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const [old, now] = [before[i], after[j]];
      const [row, below] = [length[i], length[i + 1]];
      if (!row || !below || !old || !now) continue;
      row[j] = isSame(old, now) ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return length;
}

const isSame = (a: TreeRun, b: TreeRun): boolean =>
  a.name === b.name && a.run_type === b.run_type && a.parent_run_ids.length === b.parent_run_ids.length;

const alignmentKey = ({ name, run_type, parent_run_ids }: TreeRun): string =>
  `${"  ".repeat(Math.max(0, parent_run_ids.length - 1))}${oneLine(name, 60)} [${run_type.toLowerCase()}]`;
