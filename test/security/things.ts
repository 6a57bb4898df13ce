/** One of each thing that a workspace can hold. Every text of it contains the workspace's marker. */
import type { Caller } from "../support/caller.ts";

export type Json = Record<string, unknown>;

/** A call with a key of the workspace; the JSON of the answer, or an error for any status but 2xx. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<Json>;

/** The value of each parameter of a path, and what bodies name. */
export interface Things {
  marker: string;
  assistant_id: string;
  thread_id: string;
  run_id: string;
  /** A run without a thread of its own. */
  loose_run_id: string;
  checkpoint_id: string;
  /** A thread that asks a question, with a link to answer it. */
  waiting_thread_id: string;
  interrupt_id: string;
  link_id: string;
  cron_id: string;
  task_id: string;
  push_id: string;
  project_id: string;
  spare_project_id: string;
  trace_run_id: string;
  trace_thread_id: string;
  dataset_id: string;
  example_id: string;
  /** An experiment on the dataset. */
  experiment_id: string;
  comparative_experiment_id: string;
  feedback_id: string;
  queue_id: string;
  rule_id: string;
  alert_id: string;
  /** The id of a change of the alert; a test that needs one stores it. */
  change_id: string;
  /** What the queue has: the trace's run. */
  item_id: string;
  /** The owner, name, and a commit and a tag of a prompt. */
  owner: string;
  repo: string;
  commit: string;
  tag_name: string;
  key_id: string;
  member_id: string;
  invitation_id: string;
  /** A browser in which the member is signed in; the caller makes it. */
  member_session_id: string;
  /** A grant that a person allowed; the caller makes it. */
  grant_id: string;
  /** A client that a person allowed; the caller makes it. */
  client_id: string;
  webhook_secret_id: string;
  destination_id: string;
  export_id: string;
  schedule_id: string;
  export_run_id: string;
}

const NOON = "2026-01-02T12:00:00.000000";

/** Makes one of each. `marker` is a word that no other workspace uses. */
export async function makeThings(
  ask: Ask,
  marker: string,
  { grant_id = "none", client_id = "none" } = {},
): Promise<Things> {
  const metadata = { marker };
  const post = async (path: string, body: unknown, id: string) => String((await ask("POST", path, body))[id]);
  const assistant_id = await post(
    "/assistants",
    { graph_id: "echo", name: `${marker}-assistant`, metadata, config: { configurable: { marker } } },
    "assistant_id",
  );
  const thread_id = await post("/threads", { metadata: { ...metadata, thread: marker } }, "thread_id");
  const said = { messages: [{ role: "user", content: marker }] };
  await ask("POST", `/threads/${thread_id}/runs/wait`, { assistant_id, input: said, metadata });
  const [run] = (await ask("GET", `/threads/${thread_id}/runs`)) as unknown as [Json];
  const state = await ask("GET", `/threads/${thread_id}/state`);
  const waiting_thread_id = await post("/threads", { metadata }, "thread_id");
  const mail = { messages: [{ role: "user", content: `Write to ann@example.com that ${marker}` }] };
  const asked = await ask("POST", `/threads/${waiting_thread_id}/runs/wait`, { assistant_id: "approval", input: mail });
  const [question] = asked.__interrupt__ as [{ id: string }];
  const interrupt_id = question.id;
  const links = `/threads/${waiting_thread_id}/interrupts/${interrupt_id}/links`;
  const link_id = await post(links, { name: marker }, "link_id");
  const loose = { assistant_id, input: said, metadata, on_completion: "keep" };
  const loose_run_id = await post("/runs", loose, "run_id");
  const cron = { assistant_id, schedule: "0 0 1 1 *", input: said, metadata };
  const cron_id = await post("/runs/crons", cron, "cron_id");
  await ask("PUT", "/store/items", { namespace: [marker, "notes"], key: marker, value: { marker } });
  const message = { messageId: marker, role: "ROLE_USER", parts: [{ text: marker }] };
  const rpc = async (method: string, params: Json) => {
    const answer = await ask("POST", `/a2a/${assistant_id}`, { jsonrpc: "2.0", id: 1, method, params });
    return answer.result as Json;
  };
  const sent = await rpc("SendMessage", { message });
  const task_id = String((sent.task as Json).id);
  const push = { taskId: task_id, id: `${marker}-push`, url: `https://hooks.example/${marker}`, token: marker };
  await rpc("CreateTaskPushNotificationConfig", push);

  const project_id = await post("/sessions", { name: `${marker}-project`, description: marker }, "id");
  const spare_project_id = await post("/sessions", { name: `${marker}-spare`, description: marker }, "id");
  const trace_run_id = crypto.randomUUID();
  const trace_thread_id = `${marker}-trace-thread`;
  const trace = {
    id: trace_run_id,
    trace_id: trace_run_id,
    dotted_order: `20260102T120000000000Z${trace_run_id}`,
    session_name: `${marker}-project`,
    name: marker,
    run_type: "chain",
    start_time: NOON,
    end_time: NOON,
    inputs: { marker },
    outputs: { marker },
    extra: { metadata: { thread_id: trace_thread_id, marker } },
  };
  await ask("POST", "/runs/batch", { post: [trace], patch: [] });
  const dataset_id = await post("/datasets", { name: `${marker}-dataset`, description: marker }, "id");
  const example = { dataset_id, inputs: { marker }, outputs: { marker }, metadata };
  const example_id = await post("/examples", example, "id");
  await ask("PUT", `/datasets/${dataset_id}/tags`, { as_of: new Date().toISOString(), tag: "marked" });
  const experiment = { name: `${marker}-experiment`, reference_dataset_id: dataset_id };
  const experiment_id = await post("/sessions", experiment, "id");
  const comparison = { name: marker, reference_dataset_id: dataset_id, experiment_ids: [experiment_id] };
  const comparative_experiment_id = await post("/datasets/comparative", comparison, "id");
  await ask("PUT", `/datasets/${dataset_id}/share`, {});
  await ask("PUT", `/runs/${trace_run_id}/share`, {});
  const feedback_id = crypto.randomUUID();
  await ask("POST", "/feedback", { id: feedback_id, run_id: trace_run_id, key: marker, comment: marker, score: 1 });
  await ask("POST", "/feedback-configs", { feedback_key: marker, feedback_config: { type: "freeform" } });
  await ask("POST", "/feedback/tokens", { run_id: trace_run_id, feedback_key: marker });

  const rubric = { rubric_instructions: marker, rubric_items: [{ feedback_key: marker, description: marker }] };
  const queue_id = await post("/annotation-queues", { name: marker, description: marker, metadata, ...rubric }, "id");
  const items = [trace_run_id];
  const alert = { session_id: project_id, metric: "run_count", threshold: 1, channels: [] };
  const alert_id = await post("/api/v1/alerts", { name: `alert of ${marker}`, ...alert }, "id");
  const ofRule = { sampling_rate: 0, session_id: project_id, add_to_annotation_queue_id: queue_id };
  const rule_id = await post("/runs/rules", { display_name: `rule of ${marker}`, ...ofRule }, "id");
  const [item] = (await ask("POST", `/annotation-queues/${queue_id}/runs`, items)) as unknown as [Json];
  const repo = marker;
  await ask("POST", "/repos", { repo_handle: repo, description: marker, readme: marker, tags: [marker] });
  await ask("POST", `/commits/-/${repo}`, { manifest: { template: marker }, description: marker });
  await ask("POST", `/repos/-/${repo}/tags`, { tag_name: `${marker}-tag`, commit_id: "latest" });
  const key_id = await post("/api/v1/api-keys", { name: `${marker}-key` }, "id");
  const person = { subject: `${marker}-person`, email: `ann@${marker}.example`, role: "viewer" };
  const member_id = await post("/api/v1/members", person, "id");
  const invited = { email: `bob@${marker}.example`, role: "viewer" };
  const invitation_id = await post("/api/v1/invitations", invited, "id");
  const webhook_secret_id = await post("/api/v1/webhook-secrets", {}, "id");
  const destination = { destination_type: "r2", display_name: `${marker}-destination`, config: { prefix: marker } };
  const destination_id = await post("/api/v1/bulk-exports/destinations", destination, "id");
  const job = { bulk_export_destination_id: destination_id, session_id: project_id };
  const days = { start_time: "2026-01-02T00:00:00Z", end_time: "2026-01-03T00:00:00Z" };
  const export_id = await post("/api/v1/bulk-exports", { ...job, ...days }, "id");
  const later = { start_time: "2090-01-01T00:00:00Z", interval_hours: 24 };
  const schedule_id = await post("/api/v1/bulk-exports", { ...job, ...later }, "id");
  // The export's runs are made by its queue message.
  let exportRun: Json | undefined;
  for (let tries = 0; !exportRun && tries < 400; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    [exportRun] = (await ask("GET", `/api/v1/bulk-exports/${export_id}/runs`)) as unknown as Json[];
  }
  if (!exportRun) throw new Error("The export made no run.");
  return {
    marker,
    assistant_id,
    thread_id,
    run_id: String(run.run_id),
    loose_run_id,
    checkpoint_id: String((state.checkpoint as Json).checkpoint_id),
    waiting_thread_id,
    interrupt_id,
    link_id,
    cron_id,
    task_id,
    push_id: push.id,
    project_id,
    spare_project_id,
    trace_run_id,
    trace_thread_id,
    dataset_id,
    example_id,
    experiment_id,
    comparative_experiment_id,
    feedback_id,
    queue_id,
    rule_id,
    alert_id,
    change_id: crypto.randomUUID(),
    item_id: String(item.id),
    owner: "-",
    repo,
    commit: "latest",
    tag_name: `${marker}-tag`,
    key_id,
    member_id,
    invitation_id,
    member_session_id: "none",
    grant_id,
    client_id,
    webhook_secret_id,
    destination_id,
    export_id,
    schedule_id,
    export_run_id: String(exportRun.id),
  };
}

/** Calls of a workspace of the tests. Throws on any status but 2xx. */
export function createAsk(caller: Caller): Ask {
  return async (method, path, body) => {
    const response = await caller.fetch(path, { method, body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? {} : (JSON.parse(text) as Json);
  };
}
