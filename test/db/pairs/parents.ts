/** Things that others belong to or name. */
import { call, create, type Kind, made, said } from "./workspace.ts";

/** What is made of them while they are deleted. */
export const PARENTS: Record<string, Kind> = {
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
        { display_name: id, session_id: made.projectId, sampling_rate: 0, add_to_dataset_id: id },
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
        { display_name: id, session_id: id, sampling_rate: 0, add_to_annotation_queue_id: made.queueId },
      ],
      export: [
        "POST",
        "/api/v1/bulk-exports",
        {
          bulk_export_destination_id: made.destinationId,
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
        { display_name: id, session_id: made.projectId, sampling_rate: 0, add_to_annotation_queue_id: id },
      ],
      add: ["POST", `/annotation-queues/${id}/runs`, [made.runId]],
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
          session_id: made.projectId,
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
