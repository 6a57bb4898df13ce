/** The run of a score or a failure, as a link to its place in its trace. */
import { Link } from "wouter";
import type { NamedRun } from "./types.ts";

export function RunLink({ id, project, run }: { id: string; project: string; run: NamedRun | undefined }) {
  const query = new URLSearchParams({ project, ...(run && run.trace_id !== id && { run: id }) });
  return <Link href={`/traces/${run?.trace_id ?? id}?${query}`}>{run?.name ?? id.slice(0, 8)}</Link>;
}
