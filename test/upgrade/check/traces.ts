/** Checks traces, feedback, datasets and large payloads of an older release, and the traces of interrupted runs. */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import { type Api, waitUntil } from "../../support/api.ts";
import { digest } from "../log.ts";
import { projectId } from "../make/traces.ts";
import type { TraceProject, Traces } from "../manifest.ts";

interface Page {
  runs: { id: string }[];
  cursors: { next: string | null };
}

/** The ids of a project's trace runs. `more`: further members of the query. */
async function listIds(api: Api, project: string, more: object = {}): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const body: object = { session: [project], select: ["id"], cursor, ...more };
    const page: Page = await api.post<Page>("/runs/query", body);
    ids.push(...page.runs.map(({ id }) => id));
    cursor = page.cursors.next;
  } while (cursor !== null);
  return ids;
}

export async function expectProject(api: Api, { id, name, rows, ids }: TraceProject): Promise<void> {
  expect(await projectId(api, name)).toBe(id);
  const found = await listIds(api, id);
  expect(found.length).toBe(rows);
  expect(digest(found.sort())).toBe(ids);
  expect((await listIds(api, id, { filter: 'eq(name, "chain 0")' })).length).toBeGreaterThan(0);
}

/** Reads every trace run, so that every partition has been opened. */
export async function readEveryPartition(api: Api): Promise<void> {
  for (const { id } of await api.get<{ id: string }[]>("/sessions?limit=100")) await listIds(api, id);
}

/** Each run has exactly one trace. */
export async function expectTraced(api: Api, runs: string[]): Promise<void> {
  const project = await projectId(api, "default");
  const roots = () => listIds(api, project, { is_root: true });
  await waitUntil("every run has its trace", 60, async () => {
    const found = new Set(await roots());
    return runs.every((run) => found.has(run)) || undefined;
  });
  const wanted = new Set(runs);
  expect((await roots()).filter((id) => wanted.has(id)).sort()).toEqual([...runs].sort());
}

interface Run {
  inputs: object;
  outputs: object;
  feedback_stats: object | null;
  s3_urls: Record<string, { presigned_url: string }>;
}

export async function expectPayloads(api: Api, { large, attachment }: Traces): Promise<void> {
  const { inputs, outputs } = await api.get<Run>(`/api/v1/runs/${large.run}`);
  expect([digest(inputs), digest(outputs)]).toEqual([large.inputs, large.outputs]);
  const { s3_urls } = await api.get<Run>(`/api/v1/runs/${attachment.run}`);
  const file = await fetch(s3_urls[attachment.name]?.presigned_url ?? "");
  const bytes = new Uint8Array(await file.arrayBuffer());
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(attachment.sha256);
}

/** Feedback is unchanged, and an existing presigned link accepts feedback. */
export async function expectFeedback(api: Api, { feedback, link }: Traces): Promise<void> {
  const list = () => api.get<object[]>(`/api/v1/feedback?run=${feedback.run}`);
  expect(await list()).toMatchObject(feedback.items);
  const links = await api.get<{ url: string }[]>(`/api/v1/feedback/tokens?run_id=${link.run}`);
  expect(links.map(({ url }) => new URL(url).pathname)).toEqual([link.path]);
  const body = JSON.stringify({ score: 4 });
  const given = await fetch(api.url + link.path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect(given.status).toBe(200);
  expect(await list()).toHaveLength(feedback.items.length + 1);
  const { feedback_stats } = await api.get<Run>(`/api/v1/runs/${feedback.run}`);
  expect(feedback_stats).toMatchObject({ correctness: { n: 1, avg: 0.75 }, stars: { n: 1, avg: 4 } });
}

export async function expectDataset(api: Api, { dataset }: Traces): Promise<void> {
  expect(await api.get(`/api/v1/datasets/${dataset.id}`)).toMatchObject({ name: dataset.name, session_count: 1 });
  const experiments = await api.get<{ id: string }[]>(`/api/v1/sessions?reference_dataset=${dataset.id}`);
  expect(experiments.map(({ id }) => id)).toEqual([dataset.experiment]);
}
