/** What the pictures show: a workspace with threads and traces, some of which failed. And the pages, by name. */
import type { Page } from "playwright-core";
import { sendTrace } from "../support/sdk-trace.ts";
import type { Access } from "../support/server.ts";

export interface Shot {
  name: string;
  path: string;
  /** Done before the picture is taken. */
  before?: (page: Page) => Promise<void>;
}

export async function seed(server: Access): Promise<Shot[]> {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(server.url + path, {
      method,
      headers: { ...server.headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return answer.json<Record<string, string>>();
  };
  const talk = async (assistant_id: string, content: string, owner: string) => {
    const { thread_id = "" } = await call("POST", "/threads", { metadata: { owner } });
    const input = { messages: [{ role: "user", content }] };
    await call("POST", `/threads/${thread_id}/runs/wait`, { assistant_id, input });
    return thread_id;
  };
  const first = await talk("agent", "What is 17 * 24?", "ada@example.com");
  await talk("agent", "And what is the square root of 1369, to four places?", "grace@example.com");
  await talk("approval", "Write to ada@example.com that the build is green", "ada@example.com");
  await talk("research", "Compare the two proposals for the new bridge over the river", "linus@example.com");
  await talk("actor", "fail", "grace@example.com");
  const trace = await sendTrace(server, { project: "support-agent", name: "refund_agent", text: "84.20 EUR refunded" });
  await sendTrace(server, {
    project: "support-agent",
    name: "a_rather_long_name_of_an_agent_that_its_user_gave_it",
    text: "TimeoutError: carrier_notices did not answer within 1.2 s\n    at fetchNotices (tools/carrier.ts:41)",
    failed: true,
  });
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const menu = async (page: Page) => {
    const button = page.getByRole("button", { name: /Open the menu|Show the threads/ });
    if ((await button.count()) > 0) await button.first().click();
    await page.waitForTimeout(300);
  };
  return [
    { name: "overview", path: "/" },
    { name: "chat-new", path: "/chat" },
    { name: "chat-thread", path: `/chat/${first}` },
    { name: "chat-menu", path: `/chat/${first}`, before: menu },
    { name: "traces", path: "/traces" },
    { name: "traces-menu", path: "/traces", before: menu },
    { name: "trace", path: `/traces/${trace}` },
    { name: "threads", path: "/console/threads" },
    { name: "traces-peek", path: "/traces", before: (page) => page.keyboard.press("j") },
    { name: "trace-timeline", path: `/traces/${trace}?view=timeline` },
    { name: "thread", path: `/console/threads/${first}` },
    { name: "experiments", path: "/console/experiments" },
    {
      name: "palette",
      path: "/console/threads",
      before: async (page) => {
        await page.keyboard.press("Control+k");
        await page.getByRole("dialog").waitFor();
        await page.waitForTimeout(500);
      },
    },
    { name: "not-found", path: "/console/nothing" },
  ];
}
