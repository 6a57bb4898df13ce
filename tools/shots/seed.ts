/** What the pictures show: a workspace with threads and traces, some of which failed. */
import { sendExperiments } from "../../test/support/experiments.ts";
import { sendTrace } from "../../test/support/sdk-trace.ts";
import type { TestServer } from "../../test/support/server.ts";
import { asksAt, callAs, threadSaying } from "../../test/support/workspace.ts";
import { seedAdmin } from "./admin.ts";
import { ANSWER } from "./answer.ts";
import { seedCases } from "./cases.ts";
import { seedConsole } from "./console.ts";
import { sendRefund } from "./refund.ts";
import { seedWatched } from "./watched.ts";

export type Seeded = Awaited<ReturnType<typeof seed>>;

/** Fills the workspace. The ids and addresses that pages are opened with. */
export async function seed(server: TestServer) {
  const call = (method: string, path: string, body?: unknown) =>
    callAs<Record<string, string>>(server, method, path, body);
  const talk = async (assistant_id: string, content: string, owner: string) => {
    const { thread_id = "" } = await call("POST", "/threads", { metadata: { owner } });
    const input = { messages: [{ role: "user", content }] };
    await call("POST", `/threads/${thread_id}/runs/wait`, { assistant_id, input });
    return thread_id;
  };
  // The newest project is the one that the traces show first.
  await sendExperiments(server);
  const first = await talk("agent", "What is 17 * 24?", "ada@example.com");
  await talk("agent", "And what is the square root of 1369, to four places?", "grace@example.com");
  const waiting = await talk("approval", "Write to ada@example.com that the build is green", "ada@example.com");
  const compared = await talk(
    "research",
    "Compare the two proposals for the new bridge over the river",
    "linus@example.com",
  );
  const broken = await talk("actor", "fail", "grace@example.com");
  const trace = await sendRefund(server, "support-agent");
  const failed = await sendTrace(server, {
    project: "support-agent",
    name: "a_rather_long_name_of_an_agent_that_its_user_gave_it",
    text: "TimeoutError: carrier_notices did not answer within 1.2 s\n    at fetchNotices (tools/carrier.ts:41)",
    failed: true,
  });
  const built = await seedConsole(server, call);
  const admin = await seedAdmin(server);
  const cases = await seedCases(server);
  const watched = await seedWatched(server, cases.queue);
  const written = await threadSaying(server, ANSWER);
  const { address } = await asksAt(server, "Field notes", "read write");
  const link = { run_id: trace, feedback_key: "helpful" };
  const feedback = await call("POST", "/api/v1/feedback/tokens", link);
  const { key: empty } = await server.startAnother();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return {
    key: server.key,
    empty,
    threads: { first, waiting, compared, broken, written },
    traces: { trace, failed },
    cases,
    watched,
    consent: address.pathname + address.search,
    feedback: new URL(feedback.url ?? "").pathname,
    ...built,
    ...admin,
  };
}
