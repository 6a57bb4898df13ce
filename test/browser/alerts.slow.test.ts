import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { startServer } from "../support/server.ts";
import { callAs } from "../support/workspace.ts";
import {
  browserHere,
  expectNoSidewaysScroll,
  findings,
  findingsInBothThemes,
  onStage,
  PHONE,
  readShownId,
  visit,
} from "./page.ts";

interface Alert {
  id: string;
  state: string;
  is_enabled: boolean;
  channels: Record<string, unknown>[];
}

describe.runIf(browserHere)("alerts in the browser", () => {
  const stage = onStage(() => startServer({ AUTH: "keys", ALLOW_PRIVATE_ADDRESSES: "true" }));
  const call = <T = Alert>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.stop());

  /** Alerts are evaluated once a minute. */
  let minutes = 0;
  const nextMinute = () =>
    fetch(`${stage.server.url}/cdn-cgi/handler/scheduled?time=${Date.now() + ++minutes * 60_000}`);

  /** Sends traces of the project, some of which failed. The project's id. */
  async function send(session_name: string, failed: number, well = 0): Promise<string> {
    const post = Array.from({ length: failed + well }, (_, i) => ({
      id: crypto.randomUUID(),
      name: "support",
      run_type: "chain",
      session_name,
      start_time: new Date(Date.now() - 2_000).toISOString(),
      end_time: new Date().toISOString(),
      inputs: { i },
      ...(i < failed ? { error: "TimeoutError: no answer" } : { outputs: { i } }),
    }));
    await call("POST", "/api/v1/runs/batch", { post, patch: [] });
    const [project] = await call<{ id: string }[]>("GET", `/api/v1/sessions?name=${session_name}`);
    return project?.id ?? "";
  }

  const newAlert = (session_id: string, more: object = {}) =>
    call("POST", "/api/v1/alerts", {
      name: "errors",
      session_id,
      metric: "error_rate",
      threshold: 0.5,
      window_minutes: 60,
      channels: [],
      ...more,
    });

  it("leads to a first alert, which fires, tells its channels, and resolves", async () => {
    const project = await send("firing", 2, 2);
    const { page, troubles, close } = await visit(stage, { path: "/console/alerts" });
    await page.getByText("No alerts yet.").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("link", { name: "Many runs fail" }).click();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Many runs fail");
    await page.getByLabel("Project").selectOption(project);
    await page.getByLabel("Filter", { exact: true }).fill("eq(is_root");
    await page.getByLabel("Threshold, %").fill("");
    await page.getByRole("alert").getByText("position").waitFor();
    await page.getByLabel("Filter", { exact: true }).fill("eq(is_root, true)");
    await page.getByRole("button", { name: "Create alert" }).click();
    await page.getByRole("alert").getByText("The threshold is not a number.").waitFor();
    await page.getByLabel("Threshold, %").fill("35");
    await page.getByLabel("Window").selectOption({ label: "1 h" });
    await page.getByLabel("Least number of runs").fill("3");
    await page.getByText("Evaluations in a row").click();
    await page.getByLabel("Beyond the threshold, to fire").fill("2");
    await page.getByLabel("Within the threshold, to resolve").fill("1");
    for (const path of ["hook", "slack"]) {
      await page.getByRole("button", { name: "Add channel" }).click();
      const channel = page.getByRole("group", { name: /^Channel/ }).last();
      if (path === "slack") await channel.getByLabel("Kind").selectOption({ label: "Slack" });
      await channel.getByLabel("Address").fill(`${receiver.url}/${path}`);
    }
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Create alert" }).click();
    await page.getByText("not evaluated").waitFor();
    const id = readShownId(page);
    expect(await call("GET", `/api/v1/alerts/${id}`)).toMatchObject({
      session_id: project,
      filter: "eq(is_root, true)",
      threshold: 0.35,
      window_minutes: 60,
      min_runs: 3,
      fire_after: 2,
      resolve_after: 1,
    });

    const list = `${stage.server.url}/console/alerts`;
    const alerts = page.getByRole("table", { name: "Alerts" });
    await nextMinute();
    await page.goto(list);
    await alerts.getByRole("row", { name: /^ok Many runs fail 50% error rate > 35%/ }).waitFor();
    await nextMinute();
    await alerts.getByRole("row", { name: /^firing Many runs fail 50%/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    await alerts.getByRole("link", { name: "Many runs fail" }).click();
    const history = page.getByRole("table", { name: "History" });
    await history.getByRole("row", { name: /firing 50% delivered/ }).waitFor();
    await send("firing", 0, 6);
    await nextMinute();
    await history.getByRole("row", { name: /resolved 20% delivered/ }).waitFor();
    await page.getByText("error rate > 35%").waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    const told = receiver.received.map(({ path, body }) => [path, body.type ?? body.text.split("\n")[0]]);
    expect(told).toEqual([
      ["/hook", "alert.firing"],
      ["/slack", "Firing: Many runs fail"],
      ["/hook", "alert.resolved"],
      ["/slack", "Resolved: Many runs fail"],
    ]);
    await page.getByRole("link", { name: "Matching runs" }).click();
    await page.getByRole("table", { name: "Traces" }).getByRole("row").nth(10).waitFor();
    expect(troubles).toEqual([]);
    await close();
  });

  it("tests each channel, and says which did not answer", async () => {
    const project = await send("tested", 0, 1);
    const { id } = await newAlert(project, {
      channels: [
        { type: "webhook", url: `${receiver.url}/one` },
        { type: "slack", url: `${receiver.url}/two` },
      ],
    });
    const { page, troubles, close } = await visit(stage, { path: `/console/alerts/${id}` });
    const channels = page.getByRole("table", { name: "Channels" });
    await page.getByRole("button", { name: "Test channels" }).click();
    await page.getByText("Each channel answered.").waitFor();
    receiver.answers.push(500, 500);
    await page.getByRole("button", { name: "Test channels" }).click();
    await page.getByText("Channel 1 failed:").getByText("500").waitFor();
    await channels.getByRole("row", { name: /Webhook .*\/one failed/ }).waitFor();
    await channels.getByRole("row", { name: /Slack .* failed/ }).waitFor();
    expect(await findingsInBothThemes(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it("changes an alert without its secrets, pauses and deletes it", async () => {
    const project = await send("edited", 0, 1);
    const { id } = await newAlert(project, {
      metric: "latency",
      percentile: 0.57,
      threshold: 2,
      window_minutes: 7,
      channels: [
        { type: "webhook", url: `${receiver.url}/secret`, headers: { authorization: "Bearer one" } },
        {
          type: "email",
          provider: "postmark",
          api_key: "key",
          from: "alerts@example.com",
          to: ["ada@example.com", "grace@example.com"],
        },
      ],
    });
    const path = `/api/v1/alerts/${id}`;
    const before = await call<Record<string, unknown>>("GET", path);
    const { page, troubles, close } = await visit(stage, { path: `/console/alerts/${id}` });
    await page.getByText("p57 latency > 2.00 s").waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Name", { exact: true }).fill("slow");
    expect(await findingsInBothThemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Save alert" }).click();
    await page.getByRole("heading", { name: "slow" }).waitFor();
    expect(await call("GET", path)).toEqual({ ...before, name: "slow", updated_at: expect.any(String) });
    // The stored header is still sent.
    await page.getByRole("button", { name: "Test channels" }).click();
    await page.getByText("Channel 2 failed:").waitFor();
    const sent = receiver.received.find((one) => one.path === "/secret");
    expect(sent?.headers.authorization).toBe("Bearer one");

    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused", { exact: true }).waitFor();
    expect((await call("GET", path)).is_enabled).toBe(false);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("not evaluated").waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Figure").selectOption({ label: "Feedback score" });
    await page.getByRole("button", { name: "Save alert" }).click();
    await page.getByRole("alert").getByText("Write the key of the feedback.").waitFor();
    await page.getByLabel("Key of the feedback").fill("user_score");
    await page.getByLabel("Fires when it is").selectOption({ label: "below" });
    await page.getByLabel("Threshold, score").fill("0.5");
    await page.getByRole("button", { name: "Save alert" }).click();
    await page.getByText("score of user_score < 0.5").waitFor();
    await nextMinute();
    await page.getByText("no data").first().waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete alert" }).click();
    await page.waitForURL("**/console/alerts");
    const gone = await fetch(stage.server.url + path, { headers: stage.server.headers });
    expect(gone.status).toBe(404);
    expect(troubles).toEqual([]);
    await close();
  });

  it("shows alerts to those who may only read, without a way to change them", async () => {
    await newAlert(await send("read", 0, 1), {
      name: "for readers",
      channels: [{ type: "slack", url: `${receiver.url}/read` }],
    });
    const { key } = await call<{ key: string }>("POST", "/api/v1/api-keys", { scopes: ["read"] });
    const reader = { ...stage, server: { ...stage.server, key } };
    const { page, close } = await visit(reader, { path: "/console/alerts" });
    await page.getByRole("row", { name: /for readers/ }).waitFor();
    await page.getByRole("link", { name: "New alert" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "for readers" }).click();
    await page.getByText("Its state has not changed yet.").waitFor();
    for (const name of ["Pause", "Edit", "Delete", "Test channels"])
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    await close();
  });

  it("fits a phone", async () => {
    const { id } = await newAlert(await send("small", 0, 1), {
      name: "An alert with a name of many words that a phone has no room for",
      channels: [{ type: "webhook", url: `${receiver.url}/a/rather/long/path/of/several/parts/for/a/phone` }],
    });
    const { page, close } = await visit(stage, { ...PHONE, path: "/console/alerts" });
    await page.getByRole("table", { name: "Alerts" }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.goto(`${stage.server.url}/console/alerts/${id}`);
    await page.getByRole("heading", { name: "History" }).waitFor();
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await page.goto(`${stage.server.url}/console/alerts/new?example=slow`);
    await page.getByRole("button", { name: "Add channel" }).click();
    await page.getByLabel("Kind").selectOption({ label: "E-mail" });
    await expectNoSidewaysScroll(page);
    expect(await findings(page)).toEqual([]);
    await close();
  });
});
