/** The resident memory of workerd, from /proc. */
import { existsSync, readdirSync, readFileSync } from "node:fs";

/**
 * Megabytes of the largest workerd process below `root`: the Worker with all its objects. The other one is wrangler's proxy. 0
 * where there is no /proc.
 */
export function workerdMegabytes(root: number): number {
  if (!existsSync("/proc/self/stat")) return 0;
  const parents = new Map<number, { parent: number; name: string; pages: number }>();
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
      const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      parents.set(Number(entry), { parent: Number(fields[1]), name, pages: Number(fields[21]) });
    } catch {
      // It ended in between.
    }
  }
  const isBelow = (pid: number): boolean => pid === root || (pid > 1 && isBelow(parents.get(pid)?.parent ?? 0));
  const own = [...parents].filter(([pid, { name }]) => name.startsWith("workerd") && isBelow(pid));
  return Math.round((Math.max(0, ...own.map(([, { pages }]) => pages)) * 4096) / 1e6);
}
