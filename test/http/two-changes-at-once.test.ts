/**
 * Two changes of one thing at once, of which one may make or delete what belongs to it, leave what one after the other leaves, in one of the two orders. The reference is the server
 * itself: two twins of the thing get the changes in turn.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, makeThings } from "../security/things.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { SOAK } from "../support/thorough.ts";

type Change = [method: string, path: string, body?: unknown];

interface Kind {
  /** Makes one and returns its id. `n` differs at each call. */
  make(n: number): Promise<string>;
  changes(id: string): Record<string, Change>;
  /** What shows the thing. */
  reads(id: string): string[];
}

let caller: Caller;
let projectId = "";
let runId = "";
let destinationId = "";
let queueId = "";

async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const response = await caller.fetch(path, { method, ...(body !== undefined && { body }) });
  const text = await response.text();
  if (response.status >= 500) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return { status: response.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
}

async function create(path: string, body: unknown, id: string): Promise<string> {
  const { status, body: made } = await call("POST", path, body);
  if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(made)}`);
  return String((made as Json)[id]);
}

beforeAll(async () => {
  caller = await newCaller();
  const things = await makeThings(async (method, path, body) => (await call(method, path, body)).body as Json, "two");
  [projectId, runId] = [things.project_id, things.trace_run_id];
  [destinationId, queueId] = [things.destination_id, things.queue_id];
});

const said = { messages: [{ role: "user", content: "hi" }] };
const metadata = (name: string) => ({ metadata: { [name]: 1 } });

const KINDS: Record<string, Kind> = {
  assistant: {
    make: () => create("/assistants", { graph_id: "echo", name: "first", ...metadata("first") }, "assistant_id"),
    changes: (id) => ({
      name: ["PATCH", `/assistants/${id}`, { name: "second" }],
      description: ["PATCH", `/assistants/${id}`, { description: "second" }],
      metadata: ["PATCH", `/assistants/${id}`, metadata("second")],
      "more metadata": ["PATCH", `/assistants/${id}`, metadata("third")],
      context: ["PATCH", `/assistants/${id}`, { context: { a: 1 } }],
      "an older version": ["POST", `/assistants/${id}/latest`, { version: 1 }],
      delete: ["DELETE", `/assistants/${id}`],
    }),
    reads: (id) => [`/assistants/${id}`],
  },
  thread: {
    make: () => create("/threads", metadata("first"), "thread_id"),
    changes: (id) => ({
      metadata: ["PATCH", `/threads/${id}`, metadata("second")],
      "more metadata": ["PATCH", `/threads/${id}`, metadata("third")],
      ttl: ["PATCH", `/threads/${id}`, { ttl: 60 }],
      state: ["POST", `/threads/${id}/state`, { values: said, as_node: "echo" }],
      delete: ["DELETE", `/threads/${id}`],
    }),
    reads: (id) => [`/threads/${id}`, `/threads/${id}/state`],
  },
  cron: {
    make: () =>
      create(
        "/runs/crons",
        { assistant_id: "echo", schedule: "0 0 1 1 *", input: said, ...metadata("first") },
        "cron_id",
      ),
    changes: (id) => ({
      schedule: ["PATCH", `/runs/crons/${id}`, { schedule: "0 0 2 2 *" }],
      metadata: ["PATCH", `/runs/crons/${id}`, metadata("second")],
      "more metadata": ["PATCH", `/runs/crons/${id}`, metadata("third")],
      input: ["PATCH", `/runs/crons/${id}`, { input: { messages: [] } }],
      off: ["PATCH", `/runs/crons/${id}`, { enabled: false }],
      delete: ["DELETE", `/runs/crons/${id}`],
    }),
    reads: () => ["/runs/crons/search"],
  },
  project: {
    make: (n) => create("/sessions", { name: `project ${n}`, description: "first" }, "id"),
    changes: (id) => ({
      description: ["PATCH", `/sessions/${id}`, { description: "second" }],
      extra: ["PATCH", `/sessions/${id}`, { extra: { metadata: { second: 1 } } }],
      end: ["PATCH", `/sessions/${id}`, { end_time: "2026-01-03T00:00:00Z" }],
      delete: ["DELETE", `/sessions/${id}`],
    }),
    reads: (id) => [`/sessions/${id}`],
  },
  dataset: {
    make: (n) => create("/datasets", { name: `dataset ${n}`, description: "first" }, "id"),
    changes: (id) => ({
      description: ["PATCH", `/datasets/${id}`, { description: "second" }],
      metadata: ["PATCH", `/datasets/${id}`, metadata("second")],
      schema: ["PATCH", `/datasets/${id}`, { inputs_schema_definition: { type: "object" } }],
      "other schema": ["PATCH", `/datasets/${id}`, { outputs_schema_definition: { type: "object" } }],
      delete: ["DELETE", `/datasets/${id}`],
    }),
    reads: (id) => [`/datasets/${id}`],
  },
  example: {
    make: async (n) => {
      const dataset_id = await create("/datasets", { name: `examples ${n}` }, "id");
      return create("/examples", { dataset_id, inputs: { a: 1 }, outputs: { b: 1 }, ...metadata("first") }, "id");
    },
    changes: (id) => ({
      inputs: ["PATCH", `/examples/${id}`, { inputs: { a: 2 } }],
      outputs: ["PATCH", `/examples/${id}`, { outputs: { b: 2 } }],
      metadata: ["PATCH", `/examples/${id}`, metadata("second")],
      split: ["PATCH", `/examples/${id}`, { split: "test" }],
      delete: ["DELETE", `/examples/${id}`],
    }),
    reads: (id) => [`/examples/${id}`],
  },
  feedback: {
    make: () => create("/feedback", { run_id: runId, key: "k", score: 1, comment: "first" }, "id"),
    changes: (id) => ({
      score: ["PATCH", `/feedback/${id}`, { score: 0 }],
      comment: ["PATCH", `/feedback/${id}`, { comment: "second" }],
      value: ["PATCH", `/feedback/${id}`, { value: "second" }],
      correction: ["PATCH", `/feedback/${id}`, { correction: { a: 1 } }],
      delete: ["DELETE", `/feedback/${id}`],
    }),
    reads: (id) => [`/feedback/${id}`],
  },
  "configuration of feedback": {
    make: async (n) => {
      await create(
        "/feedback-configs",
        { feedback_key: `key-${n}`, feedback_config: { type: "freeform" } },
        "feedback_key",
      );
      return `key-${n}`;
    },
    changes: (id) => ({
      lower: ["PATCH", "/feedback-configs", { feedback_key: id, is_lower_score_better: true }],
      config: [
        "PATCH",
        "/feedback-configs",
        { feedback_key: id, feedback_config: { type: "continuous", min: 0, max: 1 } },
      ],
      delete: ["DELETE", `/feedback-configs?feedback_key=${id}`],
    }),
    reads: (id) => [`/feedback-configs?key=${id}`],
  },
  "annotation queue": {
    make: (n) => create("/annotation-queues", { name: `queue ${n}`, description: "first", ...metadata("first") }, "id"),
    changes: (id) => ({
      name: ["PATCH", `/annotation-queues/${id}`, { name: `renamed ${id}` }],
      description: ["PATCH", `/annotation-queues/${id}`, { description: "second" }],
      rubric: ["PATCH", `/annotation-queues/${id}`, { rubric_instructions: "second" }],
      metadata: ["PATCH", `/annotation-queues/${id}`, metadata("second")],
      reviewers: ["PATCH", `/annotation-queues/${id}`, { num_reviewers_per_item: 2 }],
      add: ["POST", `/annotation-queues/${id}/runs`, [runId]],
      delete: ["DELETE", `/annotation-queues/${id}`],
    }),
    reads: (id) => [`/annotation-queues/${id}`, `/annotation-queues/${id}/size`],
  },
  prompt: {
    make: async (n) => {
      await call("POST", "/repos", {
        repo_handle: `prompt-${n}`,
        description: "first",
        readme: "first",
        tags: ["first"],
      });
      return `prompt-${n}`;
    },
    changes: (id) => ({
      description: ["PATCH", `/repos/-/${id}`, { description: "second" }],
      readme: ["PATCH", `/repos/-/${id}`, { readme: "second" }],
      tags: ["PATCH", `/repos/-/${id}`, { tags: ["second"] }],
      archive: ["PATCH", `/repos/-/${id}`, { is_archived: true }],
      commit: ["POST", `/commits/-/${id}`, { manifest: { template: "x" } }],
      like: ["POST", `/likes/-/${id}`, { like: true }],
      delete: ["DELETE", `/repos/-/${id}`],
    }),
    reads: (id) => [`/repos/-/${id}`, `/commits/-/${id}/`],
  },
  alert: {
    make: (n) =>
      create(
        "/api/v1/alerts",
        { name: `alert ${n}`, session_id: projectId, metric: "run_count", threshold: 1, channels: [] },
        "id",
      ),
    changes: (id) => ({
      replace: [
        "PUT",
        `/api/v1/alerts/${id}`,
        { name: `changed ${id}`, session_id: projectId, metric: "run_count", threshold: 2, channels: [] },
      ],
      "replace otherwise": [
        "PUT",
        `/api/v1/alerts/${id}`,
        { name: `other ${id}`, session_id: projectId, metric: "latency", percentile: 50, threshold: 3, channels: [] },
      ],
      delete: ["DELETE", `/api/v1/alerts/${id}`],
    }),
    reads: (id) => [`/api/v1/alerts/${id}`],
  },
  key: {
    make: (n) => create("/api/v1/api-keys", { name: `key ${n}` }, "id"),
    changes: (id) => ({
      name: ["PATCH", `/api/v1/api-keys/${id}`, { name: "second" }],
      networks: ["PATCH", `/api/v1/api-keys/${id}`, { allowed_cidrs: ["10.0.0.0/8"] }],
      delete: ["DELETE", `/api/v1/api-keys/${id}`],
    }),
    reads: () => ["/api/v1/api-keys"],
  },
  export: {
    make: () =>
      create(
        "/api/v1/bulk-exports",
        {
          bulk_export_destination_id: destinationId,
          session_id: projectId,
          start_time: "2090-01-01T00:00:00Z",
          interval_hours: 24,
        },
        "id",
      ),
    changes: (id) => ({
      cancel: ["PATCH", `/api/v1/bulk-exports/${id}`, { status: "CANCELLED" }],
      "cancel again": ["PATCH", `/api/v1/bulk-exports/${id}`, { status: "CANCELLED" }],
    }),
    reads: (id) => [`/api/v1/bulk-exports/${id}`],
  },
  "traced run": {
    make: async () => {
      const id = crypto.randomUUID();
      const dotted_order = `20260102T120000000000Z${id}`;
      const run = { id, trace_id: id, dotted_order, session_name: "two-project", name: "r", run_type: "chain" };
      const start_time = "2026-01-02T12:00:00Z";
      await call("POST", "/runs", { ...run, start_time, inputs: {} });
      return id;
    },
    changes: (id) => {
      const at = { trace_id: id, dotted_order: `20260102T120000000000Z${id}` };
      return {
        outputs: ["PATCH", `/runs/${id}`, { ...at, outputs: { b: 1 }, end_time: "2026-01-02T12:00:01Z" }],
        tags: ["PATCH", `/runs/${id}`, { ...at, tags: ["second"] }],
        metadata: ["PATCH", `/runs/${id}`, { ...at, extra: { metadata: { second: 1 } } }],
        error: ["PATCH", `/runs/${id}`, { ...at, error: "second" }],
        share: ["PUT", `/runs/${id}/share`, {}],
      };
    },
    reads: (id) => [`/runs/${id}`],
  },
  member: {
    make: (n) => create("/api/v1/members", { subject: `person-${n}`, role: "viewer" }, "id"),
    changes: (id) => ({
      developer: ["PATCH", `/api/v1/members/${id}`, { role: "developer" }],
      annotator: ["PATCH", `/api/v1/members/${id}`, { role: "annotator" }],
      delete: ["DELETE", `/api/v1/members/${id}`],
    }),
    reads: () => ["/api/v1/members"],
  },
};

/** Things that others belong to or name: what is made of them while they are deleted. */
const PARENTS: Record<string, Kind> = {
  "dataset and what it holds": {
    make: (n) => create("/datasets", { name: `parent ${n}` }, "id"),
    changes: (id) => ({
      example: ["POST", "/examples", { dataset_id: id, inputs: { a: 1 } }],
      experiment: ["POST", "/sessions", { name: `experiment of ${id}`, reference_dataset_id: id }],
      tag: ["PUT", `/datasets/${id}/tags`, { as_of: "latest", tag: "seen" }],
      share: ["PUT", `/datasets/${id}/share`, {}],
      rule: [
        "POST",
        "/runs/rules",
        { display_name: id, session_id: projectId, sampling_rate: 0, add_to_dataset_id: id },
      ],
      delete: ["DELETE", `/datasets/${id}`],
    }),
    reads: (id) => [
      `/datasets/${id}`,
      `/datasets/${id}/share`,
      `/datasets/${id}/versions`,
      `/examples?dataset=${id}`,
      `/sessions?reference_dataset=${id}`,
      "/runs/rules",
    ],
  },
  "project and what reads it": {
    make: (n) => create("/sessions", { name: `project ${n}` }, "id"),
    changes: (id) => ({
      alert: ["POST", "/api/v1/alerts", { name: id, session_id: id, metric: "run_count", threshold: 1, channels: [] }],
      rule: [
        "POST",
        "/runs/rules",
        { display_name: id, session_id: id, sampling_rate: 0, add_to_annotation_queue_id: queueId },
      ],
      export: [
        "POST",
        "/api/v1/bulk-exports",
        {
          bulk_export_destination_id: destinationId,
          session_id: id,
          start_time: "2090-01-01T00:00:00Z",
          interval_hours: 24,
        },
      ],
      delete: ["DELETE", `/sessions/${id}`],
    }),
    reads: (id) => [`/sessions/${id}`, "/api/v1/alerts", "/runs/rules", "/api/v1/bulk-exports"],
  },
  "queue and the rules that add to it": {
    make: (n) => create("/annotation-queues", { name: `queue ${n}` }, "id"),
    changes: (id) => ({
      rule: [
        "POST",
        "/runs/rules",
        { display_name: id, session_id: projectId, sampling_rate: 0, add_to_annotation_queue_id: id },
      ],
      add: ["POST", `/annotation-queues/${id}/runs`, [runId]],
      delete: ["DELETE", `/annotation-queues/${id}`],
    }),
    reads: (id) => [`/annotation-queues/${id}`, `/annotation-queues/${id}/size`, "/runs/rules"],
  },
  "assistant and its crons": {
    make: () => create("/assistants", { graph_id: "echo" }, "assistant_id"),
    changes: (id) => ({
      cron: ["POST", "/runs/crons", { assistant_id: id, schedule: "0 0 1 1 *", input: said }],
      run: ["POST", "/runs/wait", { assistant_id: id, input: said }],
      delete: ["DELETE", `/assistants/${id}`],
    }),
    reads: (id) => [`/assistants/${id}`, "/runs/crons/search"],
  },
  "thread and its crons": {
    make: () => create("/threads", {}, "thread_id"),
    changes: (id) => ({
      cron: ["POST", `/threads/${id}/runs/crons`, { assistant_id: "echo", schedule: "0 0 1 1 *", input: said }],
      run: ["POST", `/threads/${id}/runs/wait`, { assistant_id: "echo", input: said }],
      delete: ["DELETE", `/threads/${id}`],
    }),
    reads: (id) => [`/threads/${id}`, `/threads/${id}/state`, "/runs/crons/search", "/threads/search"],
  },
  "role and who has it": {
    make: async (n) => {
      await call("PUT", `/api/v1/roles/role-${n}`, { permissions: ["traces.read"] });
      return `role-${n}`;
    },
    changes: (id) => ({
      member: ["POST", "/api/v1/members", { subject: `person of ${id}`, role: id }],
      invitation: ["POST", "/api/v1/invitations", { email: `${id}@corp.example`, role: id }],
      key: ["POST", "/api/v1/api-keys", { name: `of ${id}`, role: id }],
      change: ["PUT", `/api/v1/roles/${id}`, { permissions: ["threads.read"] }],
      delete: ["DELETE", `/api/v1/roles/${id}`],
    }),
    reads: () => ["/api/v1/roles", "/api/v1/members", "/api/v1/invitations", "/api/v1/api-keys"],
  },
  "destination and its exports": {
    make: (n) =>
      create(
        "/api/v1/bulk-exports/destinations",
        { destination_type: "r2", display_name: `destination ${n}`, config: { prefix: `p${n}` } },
        "id",
      ),
    changes: (id) => ({
      export: [
        "POST",
        "/api/v1/bulk-exports",
        {
          bulk_export_destination_id: id,
          session_id: projectId,
          start_time: "2090-01-01T00:00:00Z",
          interval_hours: 24,
        },
      ],
      delete: ["DELETE", `/api/v1/bulk-exports/destinations/${id}`],
    }),
    reads: (id) => [`/api/v1/bulk-exports/destinations/${id}`, "/api/v1/bulk-exports"],
  },
  "prompt and its tags": {
    make: async (n) => {
      await call("POST", "/repos", { repo_handle: `tagged-${n}` });
      await call("POST", `/commits/-/tagged-${n}`, { manifest: { template: "x" } });
      return `tagged-${n}`;
    },
    changes: (id) => ({
      tag: ["POST", `/repos/-/${id}/tags`, { tag_name: "prod", commit_id: "latest" }],
      commit: ["POST", `/commits/-/${id}`, { manifest: { template: "y" }, parent_commit: "latest" }],
      delete: ["DELETE", `/repos/-/${id}`],
      "make again": ["POST", "/repos", { repo_handle: id, description: "again" }],
    }),
    reads: (id) => [`/repos/-/${id}`, `/repos/-/${id}/tags`, `/commits/-/${id}/`],
  },
};

/** Milliseconds. */
const DELAYS = SOAK ? [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30] : [0, 3];

let count = 0;

/** The elements of a list, or of the lists of an object's members, that name the thing. */
function onlyOf(body: unknown, id: string): unknown {
  if (Array.isArray(body)) return body.filter((one) => JSON.stringify(one).includes(id));
  return body;
}

/** What is shown of a thing, without what differs between twins: ids, times and the number in its name. */
async function look(kind: Kind, id: string): Promise<string> {
  const shown = await Promise.all(
    kind.reads(id).map(async (path) => {
      const isSearch = path.endsWith("/search");
      const { status, body } = await call(isSearch ? "POST" : "GET", path, isSearch ? { limit: 1000 } : undefined);
      return { status, body: onlyOf(body, id) };
    }),
  );
  return JSON.stringify(shown, null, 1)
    .replaceAll(id, "ID")
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, "UUID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, "TIME")
    .replaceAll(/weir_key_\w+|[\da-f]{40,64}/g, "HASH")
    .replaceAll(
      /(project|dataset|parent|examples|queue|prompt|tagged|key|alert|person|role|destination|p)[ -]?\d+/g,
      "$1 N",
    );
}

describe.each(Object.entries({ ...KINDS, ...PARENTS }))("%s", (_name, kind) => {
  const names = Object.keys(kind.changes("x"));
  const pairs = names.flatMap((a, i) => names.slice(i).map((b) => [a, b] as const));
  it.each(pairs)("%s and %s", async (a, b) => {
    const make = () => kind.make((count += 1));
    const apply = (id: string, name: string) => call(...(kind.changes(id)[name] as Change));
    const inTurn = async (first: string, second: string) => {
      const id = await make();
      await apply(id, first);
      await apply(id, second);
      return look(kind, id);
    };
    const either = [await inTurn(a, b), await inTurn(b, a)];
    // The second begins at another step of the first each time.
    for (const delay of DELAYS) {
      const id = await make();
      await Promise.all([apply(id, a), scheduler.wait(delay).then(() => apply(id, b))]);
      expect(either).toContain(await look(kind, id));
    }
  });
});
