/** Makes traces on several days and projects, with feedback, large payloads, an attachment, a dataset and an experiment. */
import { createHash } from "node:crypto";
import { segment } from "../../../src/traces/time.ts";
import type { Api } from "../../support/api.ts";
import { digest } from "../log.ts";
import type { TraceProject, Traces } from "../manifest.ts";

const DAY = 86_400_000;
/** The first day of the trace runs. Fixed dates make the fixture independent of the calendar. */
export const FIRST_DAY = Date.parse("2026-03-02T00:00:00Z");

interface SentRun {
  id: string;
  [field: string]: unknown;
}

/** A UUID made from a name. */
function uuid(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** `perDay` runs on each of `days` days. Every third run is a child of the previous run. */
function generateRuns(project: string, days: number, perDay: number): SentRun[] {
  return Array.from({ length: days * perDay }, (_, n) => {
    const child = n % perDay > 0 && n % 3 === 2;
    const at = (one: number) => FIRST_DAY + Math.floor(one / perDay) * DAY + (one % perDay) * 60_000;
    const ids = [...(child ? [n - 1] : []), n].map((one) => ({ id: uuid(`${project} ${one}`), start: at(one) }));
    const [root, own] = [ids[0]!, ids.at(-1)!];
    return {
      id: own.id,
      trace_id: root.id,
      dotted_order: ids.map(({ id, start }) => segment(start * 1000, id)).join("."),
      ...(child && { parent_run_id: root.id }),
      name: child ? "model" : `chain ${n % 7}`,
      run_type: child ? "llm" : "chain",
      start_time: new Date(own.start).toISOString(),
      end_time: new Date(own.start + 1_500).toISOString(),
      inputs: { n, question: `What is ${n}? "水" \\ ${"x".repeat(n % 50)}` },
      outputs: child ? { usage_metadata: { input_tokens: n, output_tokens: 2, total_tokens: n + 2 } } : { n },
      ...(n % 10 === 0 && { error: `Error: boom ${n}` }),
      tags: n % 2 === 0 ? [] : ["odd"],
      extra: { metadata: { thread_id: `t-${n % 4}`, n } },
      session_name: project,
    };
  });
}

export async function projectId(api: Api, name: string): Promise<string> {
  const [project] = await api.get<{ id: string }[]>(`/api/v1/sessions?name=${encodeURIComponent(name)}`);
  if (!project) throw new Error(`No project ${name}.`);
  return project.id;
}

/** Sends `days` times `perDay` runs to a project. */
export async function sendProject(api: Api, name: string, days: number, perDay: number): Promise<TraceProject> {
  const post = generateRuns(name, days, perDay);
  for (let at = 0; at < post.length; at += 100) {
    await api.post("/api/v1/runs/batch", { post: post.slice(at, at + 100), patch: [] });
  }
  const ids = post.map((run) => run.id).sort();
  return { id: await projectId(api, name), name, rows: ids.length, ids: digest(ids) };
}

const LARGE = { text: "A payload that does not fit a row of its own. ".repeat(8_000) };

async function sendLarge(api: Api): Promise<string> {
  const id = uuid("large");
  const start_time = new Date(FIRST_DAY + DAY / 2).toISOString();
  const run = { id, name: "large", run_type: "chain", start_time, inputs: LARGE, session_name: "upgrade alpha" };
  await api.post("/api/v1/runs/batch", { post: [run], patch: [] });
  const patch = { id, end_time: new Date(FIRST_DAY + DAY / 2 + 900).toISOString(), outputs: { again: LARGE } };
  await api.call("PATCH", `/api/v1/runs/${id}`, {
    ...patch,
    trace_id: id,
    dotted_order: segment((FIRST_DAY + DAY / 2) * 1000, id),
  });
  return id;
}

const PICTURE = Uint8Array.from({ length: 300 }, (_, n) => (n * 7) % 256);

async function sendAttachment(api: Api): Promise<Traces["attachment"]> {
  const id = uuid("attachment");
  const start = FIRST_DAY + DAY / 3;
  const dotted_order = segment(start * 1000, id);
  const start_time = new Date(start).toISOString();
  const run = {
    id,
    trace_id: id,
    dotted_order,
    name: "picture",
    run_type: "chain",
    start_time,
    session_name: "upgrade alpha",
  };
  const form = new FormData();
  form.append(`post.${id}`, new Blob([JSON.stringify(run)], { type: "application/json" }));
  form.append(`attachment.${id}.picture`, new Blob([PICTURE], { type: "image/png" }));
  const sent = await fetch(`${api.url}/api/v1/runs/multipart`, { method: "POST", headers: api.headers, body: form });
  if (!sent.ok) throw new Error(`The attachment was refused: ${sent.status} ${await sent.text()}`);
  return { run: id, name: "attachment.picture", sha256: createHash("sha256").update(PICTURE).digest("hex") };
}

export async function makeTraces(api: Api): Promise<Traces> {
  const alpha = await sendProject(api, "upgrade alpha", 3, 40);
  const dataset = await api.post<{ id: string; name: string }>("/api/v1/datasets", { name: "upgrade questions" });
  const experiment = { name: "upgrade experiment", reference_dataset_id: dataset.id };
  await api.post("/api/v1/sessions", experiment);
  const beta = await sendProject(api, experiment.name, 2, 30);
  const large = await sendLarge(api);
  const attachment = await sendAttachment(api);
  const run = uuid("upgrade alpha 4");
  const give = (key: string, more: object) => api.post("/api/v1/feedback", { run_id: run, key, ...more });
  await give("correctness", { score: 0.75, comment: "nearly" });
  await give("mood", { value: "happy" });
  const items = await api.get<Traces["feedback"]["items"]>(`/api/v1/feedback?run=${run}`);
  const link = await api.post<{ url: string }>("/api/v1/feedback/tokens", { run_id: run, feedback_key: "stars" });
  const more = [large, attachment.run];
  const ids = [...generateRuns(alpha.name, 3, 40).map(({ id }) => id), ...more].sort();
  return {
    projects: [{ ...alpha, rows: ids.length, ids: digest(ids) }, beta],
    large: { run: large, inputs: digest(LARGE), outputs: digest({ again: LARGE }) },
    attachment,
    feedback: { run, items: items.map(({ id, key, score, comment }) => ({ id, key, score, comment })) },
    link: { run, key: "stars", path: new URL(link.url).pathname },
    dataset: { id: dataset.id, name: dataset.name, experiment: beta.id },
  };
}
