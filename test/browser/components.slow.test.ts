/**
 * Generative UI: a page of another site shows a graph's components with the client's `LoadExternalComponent`, in Chromium.
 * The server is `weir dev`.
 */
import { symlinkSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newProject, type RunningDev, startDev, type TestProject } from "../support/project.ts";
import { launch } from "../support/chromium.ts";
import { browserHere } from "./page.ts";

const ROOT = join(import.meta.dirname, "..", "..");

const GRAPH = `
import { Annotation, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { typedUi } from "@langchain/langgraph-sdk/react-ui/server";
import { uiMessageReducer } from "@langchain/langgraph-sdk/react-ui";
import type components from "./ui.tsx";
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  ui: Annotation({ reducer: uiMessageReducer, default: () => [] }),
});
export const graph = new StateGraph(State)
  .addNode("weather", async (_state, config) => {
    const ui = typedUi<typeof components>(config);
    const message = { type: "ai", id: "said", content: "Here it is" };
    ui.push({ id: "gone", name: "it's \\"odd\\" <b>", props: { city: "Nowhere" } }, { message });
    ui.delete("gone");
    const { id } = ui.push({ name: "weather", props: { city: "Oslo", degrees: 1 } }, { message });
    ui.push({ id, name: "weather", props: { degrees: 4 } }, { message, merge: true });
    ui.push({ name: "it's \\"odd\\" <b>", props: { city: "Pécs" } }, { message });
    return { messages: [message] };
  })
  .addEdge("__start__", "weather")
  .compile();
`;

const COMPONENTS = `
import { useState } from "react";
import { useStreamContext } from "@langchain/langgraph-sdk/react-ui";
import { label } from "./label.ts";
import "./ui.css";
function Weather({ city, degrees }: { city: string; degrees: number }) {
  const [pressed, press] = useState(0);
  const { values, meta } = useStreamContext();
  return <button className="weather" onClick={() => press(pressed + 1)}>
    {label} {city} {degrees} {meta.unit} {values.messages.length} {pressed}
  </button>;
}
export default { weather: Weather, "it's \\"odd\\" <b>": ({ city }) => <p>{city}</p> };
`;

const PAGE = `
import { createRoot } from "react-dom/client";
import { useStream } from "@langchain/langgraph-sdk/react";
import { LoadExternalComponent, uiMessageReducer } from "@langchain/langgraph-sdk/react-ui";
function App() {
  const stream = useStream({
    apiUrl: new URLSearchParams(location.search).get("api"),
    assistantId: "agent",
    onCustomEvent: (event, { mutate }) =>
      mutate((state) => ({ ...state, ui: uiMessageReducer(state.ui ?? [], event) })),
  });
  return <>
    <button id="go" onClick={() => stream.submit({ messages: [{ type: "human", content: "hi" }] })}>go</button>
    <pre>{JSON.stringify((stream.values.ui ?? []).map(({ name, props, metadata }) => [name, props, metadata.id]))}</pre>
    {(stream.values.ui ?? []).map((message) =>
      <LoadExternalComponent key={message.id} stream={stream} message={message} meta={{ unit: "C" }} />)}
  </>;
}
createRoot(document.getElementById("root")).render(<App />);
`;

/** A page of another site, with its script. */
async function site(): Promise<Server> {
  const made = await build({
    stdin: { contents: PAGE, resolveDir: ROOT, loader: "tsx" },
    bundle: true,
    write: false,
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const page = '<!doctype html><div id="root"></div><script src="/page.js"></script>';
  const server = createServer(({ url }, response) => {
    const isScript = url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? made.outputFiles[0]?.text : page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

describe.runIf(browserHere)("the components of a graph", () => {
  let project: TestProject;
  let dev: RunningDev;
  let other: Server;
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    project = newProject({
      "langgraph.json": { graphs: { agent: "./graph.ts:graph" }, ui: { agent: "./ui.tsx" } },
      "graph.ts": GRAPH,
      "ui.tsx": COMPONENTS,
      "label.ts": `export const label = "Weather of";`,
      "ui.css": ".weather { color: rgb(1, 2, 3) }",
    });
    for (const name of ["react", "react-dom"])
      symlinkSync(join(ROOT, "node_modules", name), join(project.root, "node_modules", name));
    [dev, other, browser] = await Promise.all([startDev(project.root), site(), launch()]);
    await dev.says(/Weir listens on/);
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    other?.close();
    await dev?.stop("SIGKILL");
    project?.remove();
  });

  it("show in a page of another origin, with its React, its stream and their own styles", async () => {
    const { port } = other.address() as AddressInfo;
    // The names of this machine are one: the page is at one of them, the server at the other.
    await page.goto(`http://localhost:${port}/?api=${encodeURIComponent(dev.url)}`);
    await page.locator("#go").click();
    const weather = page.locator(".weather");
    await weather.filter({ hasText: "Weather of Oslo 4 C 2 0" }).waitFor();
    await weather.click();
    await weather.filter({ hasText: "Weather of Oslo 4 C 2 1" }).waitFor();
    const shown = `[...document.querySelectorAll("div")].map((div) => div.shadowRoot?.querySelector(".weather")).find(Boolean)`;
    expect(await page.evaluate(`getComputedStyle(${shown}).color`)).toBe("rgb(1, 2, 3)");
    await page.locator("p").filter({ hasText: "Pécs" }).waitFor();
    const state = JSON.parse((await page.locator("pre").textContent()) ?? "") as unknown[];
    expect(state).toEqual([
      ["weather", { city: "Oslo", degrees: 4 }, "said"],
      [`it's "odd" <b>`, { city: "Pécs" }, "said"],
    ]);
  });

  it("follow a change of a file that they import", async () => {
    const script = async () => (await fetch(`${dev.url}/ui/agent/entrypoint.js`)).text();
    expect(await script()).toContain("Weather of");
    project.write("label.ts", `export const label = "Sky over";`);
    await expect.poll(script, { timeout: 120_000 }).toContain("Sky over");
  });
});
