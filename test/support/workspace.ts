/** What the pages of the console show: traces of several days with model calls, an application that was let in, an export. */
import { allow } from "../conformance/person.ts";
import type { Access } from "./server.ts";

const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const RETURN = "http://127.0.0.1/callback";
const DAY = 86_400_000;

/** A call with the key of the workspace. @throws Error for any status but 2xx. */
export async function callAs<T>({ url, headers }: Access, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(url + path, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** A thread of the graph "agent" on which an agent has said `content`. Its id. */
export async function threadSaying(server: Access, content: string): Promise<string> {
  const metadata = { graph_id: "agent" };
  const { thread_id } = await callAs<{ thread_id: string }>(server, "POST", "/threads", { metadata });
  const messages = [
    { type: "human", id: "h1", content: "Show me" },
    { type: "ai", id: "a1", content },
  ];
  await callAs(server, "POST", `/threads/${thread_id}/state`, { values: { messages }, as_node: "agent" });
  return thread_id;
}

/** Registers an application. Its client id, and the address at which a person allows it. */
export async function asksAt(
  server: Access,
  client_name: string,
  scope = "read write",
): Promise<{ client: string; address: URL }> {
  const metadata = { client_name, redirect_uris: [RETURN, "https://notes.example/oauth/callback"] };
  const { client_id } = await callAs<{ client_id: string }>(server, "POST", "/oauth/register", metadata);
  const asked = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: RETURN,
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    scope,
    state: "s",
  });
  return { client: client_id, address: new URL(`${server.url}/oauth/authorize?${asked.toString()}`) };
}

/** Registers an application, which a person then allows. Its client id and access token. */
export async function letIn(
  server: Access,
  client_name: string,
  scope?: string,
): Promise<{ client: string; token: string }> {
  const { client, address } = await asksAt(server, client_name, scope);
  const answer = await allow(address, server.key);
  const exchange = new URLSearchParams({
    grant_type: "authorization_code",
    code: answer.searchParams.get("code") ?? "",
    client_id: client,
    redirect_uri: RETURN,
    code_verifier: VERIFIER,
  });
  const tokens = await fetch(`${server.url}/oauth/token`, { method: "POST", body: exchange });
  const { access_token } = await tokens.json<{ access_token: string }>();
  return { client, token: access_token };
}

/** Sends traces of a project: `perDay(n)` of them on the UTC day n days ago, each with a model call. The project's id. */
export async function sendDays(
  server: Access,
  project: string,
  days: number,
  perDay: (daysAgo: number) => number = () => 1,
): Promise<string> {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const post: object[] = [];
  for (let daysAgo = 0; daysAgo < days; daysAgo++) {
    for (let i = 0; i < perDay(daysAgo); i++) post.push(...trace(project, today - daysAgo * DAY + i * 1_000));
  }
  for (let at = 0; at < post.length; at += 100) {
    await callAs(server, "POST", "/api/v1/runs/batch", { post: post.slice(at, at + 100), patch: [] });
  }
  const path = `/api/v1/sessions?name=${encodeURIComponent(project)}`;
  return (await callAs<{ id: string }[]>(server, "GET", path))[0]?.id ?? "";
}

function trace(session_name: string, start: number): object[] {
  const time = (at: number) => new Date(at).toISOString();
  const order = (at: number, id: string) => `${time(at).replace(/[-:.]/g, "").slice(0, -1)}000Z${id}`;
  const [root, model] = [crypto.randomUUID(), crypto.randomUUID()];
  const usage_metadata = { input_tokens: 1_200, output_tokens: 300, total_tokens: 1_500 };
  const dotted_order = order(start, root);
  const shared = { trace_id: root, session_name, start_time: time(start), end_time: time(start + 900) };
  return [
    { ...shared, id: root, dotted_order, name: "answer", run_type: "chain", inputs: { q: "?" }, outputs: { a: "!" } },
    {
      ...shared,
      id: model,
      parent_run_id: root,
      dotted_order: `${dotted_order}.${order(start, model)}`,
      name: "model",
      run_type: "llm",
      inputs: { messages: [] },
      outputs: { usage_metadata },
      extra: { metadata: { ls_model_name: "gpt-4o-mini", ls_provider: "openai", usage_metadata } },
    },
  ];
}

/** A destination on the server's own bucket. Its id. */
export async function ownBucket(server: Access, display_name: string, prefix: string): Promise<string> {
  const body = { destination_type: "r2", display_name, config: { prefix } };
  return (await callAs<{ id: string }>(server, "POST", "/api/v1/bulk-exports/destinations", body)).id;
}

/** Exports the last `days` days of a project, and waits until that is complete. Its id. */
export async function exportDays(
  server: Access,
  destination: string,
  session_id: string,
  days: number,
): Promise<string> {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const { id } = await callAs<{ id: string }>(server, "POST", "/api/v1/bulk-exports", {
    bulk_export_destination_id: destination,
    session_id,
    start_time: new Date(today - (days - 1) * DAY).toISOString(),
    end_time: new Date(today + DAY).toISOString(),
  });
  for (let looks = 0; looks < 300; looks++) {
    const { status, error } = await callAs<{ status: string; error: string | null }>(
      server,
      "GET",
      `/api/v1/bulk-exports/${id}`,
    );
    if (status === "COMPLETED") return id;
    if (error !== null) throw new Error(error);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("The export did not complete in a minute.");
}
