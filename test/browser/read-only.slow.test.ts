/** A key that only reads: every control that it may press sends only what it may do. */
import { readFileSync } from "node:fs";
import type { Page, Request } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { mayCall, accessOf } from "../../src/http/route.ts";
import type { Principal } from "../../src/http/principal.ts";
import { sharedServer } from "../support/shared-server.ts";
import { callAs } from "../support/workspace.ts";
import { type Made, makeOneOfEach } from "./one-of-each.ts";
import { browserHere, checkEventually, onStage, visit } from "./page.ts";

/** Of each view of the page: its list, its forms, and the items that were made. */
const ADDRESSES: Record<string, (made: Made) => string[]> = {
  "/": () => ["/"],
  "/chat": ({ thread, failed, waiting, queued }) => [
    "/chat",
    ...[thread, failed, waiting, queued].map((id) => `/chat/${id}`),
  ],
  "/traces": ({ trace }) => ["/traces", `/traces/${trace}`, `/traces/${trace}?view=timeline`],
  "/console/threads": ({ thread }) => ["/console/threads", `/console/threads/${thread}`],
  "/console/datasets": ({ dataset }) => list("datasets", dataset),
  "/console/experiments": ({ compared }) => list("experiments", compared),
  "/console/queues": ({ queue }) => [...list("queues", queue), `/console/queues/${queue}?tab=completed`],
  "/console/rules": ({ rule }) => list("rules", rule),
  "/console/alerts": ({ alert }) => list("alerts", alert),
  "/console/assistants": ({ assistant }) => [
    ...list("assistants", assistant),
    ...["versions", "try"].map((tab) => `/console/assistants/${assistant}?tab=${tab}`),
  ],
  "/console/prompts": ({ prompt }) => ["/console/prompts", `/console/prompts/${prompt}`],
  "/console/playground": () => ["/console/playground"],
  "/console/runs": () => ["/console/runs"],
  "/console/control": () => ["/console/control"],
  "/console/crons": ({ cron }) => list("crons", cron),
  "/console/store": () => ["/console/store", "/console/store?in=users&in=ada&key=profile", "/console/store?new=1"],
  "/console/exports": () => list("exports"),
  "/console/keys": () => list("keys"),
  "/console/members": () => list("members"),
  "/console/oauth": () => ["/console/oauth"],
  "/console/webhooks": () => list("webhooks"),
  "/console/audit": () => ["/console/audit"],
  "/console/usage": () => ["/console/usage"],
};

const list = (view: string, id?: string) =>
  ["", "/new", ...(id === undefined ? [] : [`/${id}`])].map((rest) => `/console/${view}${rest}`);

const VIEWS = [...readFileSync("packages/web/app/routes.ts", "utf8").matchAll(/^ {2}\{ path: "(\/[^"]*)"/gm)].map(
  ([, path = ""]) => path,
);

/** Names of controls that change what the server holds, or start a run. */
const WRITES =
  /^(Activate|Add|Apply|Approve|Attach|Cancel all|Cancel the run|Commit|Create|Delete|Edit|Import|Invite|Make active|Move|Name version|New|Pause|Regenerate|Reject|Remove|Rename|Replace|Respond|Resume|Retry|Revoke|Rotate|Run|Save|Send|Stop|Take back|Test|Write)\b/;
/** Those among them that change only the page, or open a menu whose items say the reason. */
const OF_THE_PAGE = /^(Add to$|(Add|Remove|Move) (column|images|message|placeholder|tool)|Save this view|New thread)/;

/** What changes a form that is not sent yet. */
const OF_A_FORM = /^(Add|Remove|Move)\b/;

/** The navigation, and what the page keeps itself: conditions of a search, and views by name. */
const APART = 'nav[aria-label="Pages"] *, [aria-label="Conditions"] *, [role="menu"] form *';

/** What a pointer can press. */
const CONTROLS = `:is(button, [role="menuitem"], a[data-filled]):not(:disabled, [data-disabled], ${APART})`;

/** Presses in one view: more than any has controls of different names. */
const MOST_PRESSES = 60;

const READER: Pick<Principal, "scopes"> = { scopes: ["read"] };

describe.runIf(browserHere)("a key that only reads", () => {
  const stage = onStage(() => sharedServer("graphs"));
  let made: Made;
  let key: string;
  beforeAll(async () => {
    made = await makeOneOfEach(stage.server);
    const body = { name: "reader", scopes: ["read"] };
    ({ key } = await callAs<{ key: string }>(stage.server, "POST", "/api/v1/api-keys", body));
  });

  it("has each view in its walk", () => expect(Object.keys(ADDRESSES).sort()).toEqual(VIEWS.sort()));

  it.each(Object.entries(ADDRESSES))("is offered nothing that it may not do: %s", async (_view, addresses) => {
    for (const address of addresses(made)) {
      const { page, close } = await visit({ ...stage, server: { ...stage.server, key } }, { path: "/console/nothing" });
      const { refused, isQuiet } = watch(page, stage.server.url);
      const offered = await pressEach(page, stage.server.url + address, isQuiet);
      expect({ address, offered, refused }).toEqual({ address, offered: [], refused: [] });
      await close();
    }
  });
});

/** The requests of the page that a reader may not make, and those that were refused. */
function watch(page: Page, url: string): { refused: string[]; isQuiet: () => boolean } {
  const sent: string[] = [];
  const open = new Set<Request>();
  page.on("request", (request) => !/\/(stream|events)$/.test(new URL(request.url()).pathname) && open.add(request));
  for (const event of ["requestfinished", "requestfailed"] as const)
    page.on(event as "requestfinished", (request) => open.delete(request));
  page.on("request", (request) => {
    const { origin, pathname } = new URL(request.url());
    if (origin !== url || request.method() === "GET") return;
    const access = accessOf(request.method(), pathname)?.access;
    const may = access !== undefined && access !== "deployment" && mayCall(READER as Principal, access);
    if (!may) sent.push(`${request.method()} ${pathname}`);
  });
  page.on("response", (response) => {
    if (response.status() === 403 && response.request().method() !== "GET") sent.push(`403 ${response.url()}`);
  });
  return { refused: sent, isQuiet: () => open.size === 0 };
}

/** Presses each control of the view. The names of those that write, in the view and in what the others open. */
async function pressEach(page: Page, address: string, isQuiet: () => boolean): Promise<string[]> {
  const settle = () =>
    checkEventually(
      async () => isQuiet() && (await page.locator('[aria-label^="Loading"], #root:empty').count()) === 0,
      (settled) => expect(settled).toBe(true),
    );
  const open = async () => {
    await page.goto(address);
    await settle();
  };
  const offered = new Set<string>();
  const note = async () => {
    await fillForms(page);
    for (const name of await listWriting(page)) offered.add(name);
  };
  await open();
  await note();
  const pressed = new Set<string>();
  for (let presses = 0; presses < MOST_PRESSES; presses++) {
    const controls = page.locator(CONTROLS).filter({ visible: true });
    const names = await listNames(page);
    // Rows of a list have the same controls.
    const next = names.findIndex((name) => !pressed.has(name.replaceAll(/[\d:.]+/g, "0")));
    if (next === -1) break;
    pressed.add((names[next] ?? "").replaceAll(/[\d:.]+/g, "0"));
    await controls
      .nth(next)
      .click({ timeout: 5_000 })
      .catch(() => undefined);
    await settle();
    await note();
    await page.keyboard.press("Escape");
    if (page.url() !== address || (await page.getByRole("dialog").count()) > 0) await open();
  }
  expect(pressed.size).toBeLessThan(MOST_PRESSES);
  return [...offered];
}

/** Writes something into each empty field, and changes the others: a form may be sent only then. */
async function fillForms(page: Page): Promise<void> {
  const fields = page
    .locator('form:not([role="search"]) :is(textarea, input:not([type])):enabled')
    .filter({ visible: true });
  for (const field of await fields.all()) {
    // A menu may have closed.
    const text = await field.inputValue({ timeout: 1_000 }).catch(() => "{");
    if (!/^[{[]/.test(text)) await field.fill(`${text}1`);
  }
}

const listNames = (page: Page, controls = CONTROLS): Promise<string[]> =>
  page
    .locator(controls)
    .filter({ visible: true })
    .evaluateAll((all) =>
      all.map((one) => one.getAttribute("aria-label") ?? (one as unknown as { innerText: string }).innerText.trim()),
    );

/** Rows of a form are added and removed before it is sent. */
const listWriting = async (page: Page): Promise<string[]> => [
  ...(await listNames(page, `${CONTROLS}:not(form [type="button"])`)).filter(isWriting),
  ...(await listNames(page, `form ${CONTROLS}[type="button"]`)).filter(
    (name) => isWriting(name) && !OF_A_FORM.test(name),
  ),
];

const isWriting = (name: string) => WRITES.test(name) && !OF_THE_PAGE.test(name);
