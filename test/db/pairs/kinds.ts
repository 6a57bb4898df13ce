/** Kinds of things and what changes them. */
import { call, create, type Kind, made, metadata, said } from "./workspace.ts";

export const KINDS: Record<string, Kind> = {
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
    make: () => create("/feedback", { run_id: made.runId, key: "k", score: 1, comment: "first" }, "id"),
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
      add: ["POST", `/annotation-queues/${id}/runs`, [made.runId]],
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
        { name: `alert ${n}`, session_id: made.projectId, metric: "run_count", threshold: 1, channels: [] },
        "id",
      ),
    changes: (id) => ({
      replace: [
        "PUT",
        `/api/v1/alerts/${id}`,
        { name: `changed ${id}`, session_id: made.projectId, metric: "run_count", threshold: 2, channels: [] },
      ],
      "replace otherwise": [
        "PUT",
        `/api/v1/alerts/${id}`,
        {
          name: `other ${id}`,
          session_id: made.projectId,
          metric: "latency",
          percentile: 50,
          threshold: 3,
          channels: [],
        },
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
          bulk_export_destination_id: made.destinationId,
          session_id: made.projectId,
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
