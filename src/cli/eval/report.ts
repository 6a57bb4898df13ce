/** The comparison of an experiment with its baseline, as lines of text. */

export interface Compared {
  id: string;
  name: string;
  run_count: number;
  error_count: number;
  latency_p50: number | null;
  total_cost: number;
  scores: Record<string, number>;
  improved: Record<string, number>;
  regressed: Record<string, number>;
  newly_failed: number;
}

const BAR = 20;

/** A line for each score. Keys with regressions come first. */
export function formatReport(now: Compared, before: Compared | undefined): string[] {
  const keys = Object.keys(now.scores).toSorted((a, b) => (now.regressed[b] ?? 0) - (now.regressed[a] ?? 0));
  const width = Math.max(8, ...keys.map((key) => key.length));
  return [
    `${now.name}: ${now.run_count} runs, ${now.error_count} failed${now.newly_failed > 0 ? `, ${now.newly_failed} of them new` : ""}`,
    before ? `compared with ${before.name}` : "the first experiment of the dataset",
    "",
    ...keys.map((key) => line(key.padEnd(width), key, now, before)),
  ];
}

function line(label: string, key: string, now: Compared, before: Compared | undefined): string {
  const score = now.scores[key] ?? 0;
  const old = before?.scores[key];
  const filled = Math.round(Math.min(1, Math.max(0, score)) * BAR);
  const bar = `${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
  const change = old === undefined ? "" : `  ${score >= old ? "+" : "−"}${Math.abs(score - old).toFixed(3)}`;
  const counts = before ? `  ${now.improved[key] ?? 0} better, ${now.regressed[key] ?? 0} worse` : "";
  return `  ${label}  ${score.toFixed(3)}  ${bar}${change}${counts}`;
}

export const hasRegressed = ({ regressed, newly_failed }: Compared): boolean =>
  newly_failed > 0 || Object.values(regressed).some((count) => count > 0);
