/** Public routes, and refusals of calls without a valid key. */
import assert from "node:assert/strict";
import { type Check, NotRun, type Smoke } from "../suite.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Checks that a link of the server has the origin under test. */
function assertOwn(smoke: Smoke, link: string | undefined): void {
  const origin = new URL(smoke.url).origin;
  assert.equal(link && new URL(link).origin, origin, `The server makes links to ${link}. Set PUBLIC_URL`);
}

export const system: Check[] = [
  {
    name: "health: the server and its database answer",
    async run(smoke) {
      const response = await fetch(`${smoke.url}/ok?check_db=1`);
      assert.equal(response.status, 200);
      assert.deepEqual(await response.json(), { ok: true });
    },
  },
  {
    name: "info: version and flags",
    async run(smoke) {
      const info = await smoke.call<{ weir_version: string; flags: object }>("GET", "/info");
      assert.match(info.weir_version, /^\d+\.\d+\.\d+/);
      assert.ok(info.flags);
    },
  },
  {
    name: "page: / and its script",
    async run(smoke) {
      const page = await fetch(`${smoke.url}/`);
      assert.equal(page.status, 200);
      assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
      const script = /<script[^>]+src="([^"]+\.js)"/.exec(await page.text())?.[1];
      assert.ok(script, "The page has no script. Was it built before the deploy?");
      const loaded = await fetch(new URL(script, smoke.url));
      assert.equal(loaded.status, 200);
      assert.match(loaded.headers.get("content-type") ?? "", /javascript/);
      await loaded.text();
    },
  },
  {
    name: "keys: a call without a key is refused with a link to the OAuth metadata",
    async run(smoke) {
      const response = await fetch(`${smoke.url}/assistants/search`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      await response.text();
      if (response.ok && LOOPBACK.includes(new URL(smoke.url).hostname)) {
        throw new NotRun("this local server takes calls without a key (AUTH=open)");
      }
      assert.equal(response.status, 401);
      const guide = /resource_metadata="([^"]+)"/.exec(response.headers.get("www-authenticate") ?? "")?.[1];
      assertOwn(smoke, guide);
    },
  },
  {
    name: "keys: a wrong key is refused",
    async run(smoke) {
      const response = await smoke.send("POST", "/assistants/search", {}, { "x-api-key": "weir_wrong" });
      await response.text();
      assert.equal(response.status, 401);
    },
  },
];

/** Runs before all checks that use the key, and reads the graphs of the deployment. */
export const key: Check = {
  name: "keys: the key is accepted",
  async run(smoke) {
    const assistants = await smoke.client.assistants.search({ limit: 100 });
    smoke.graphs = [...new Set(assistants.map(({ graph_id }) => graph_id))];
    assert.ok(smoke.graphs.length > 0, "The deployment has no assistant.");
  },
};

export const errors: Check[] = [
  {
    name: "errors: an unknown path is a 404 with a reason",
    async run(smoke) {
      const response = await smoke.send("GET", "/no-such-path");
      assert.equal(response.status, 404);
      assert.match(response.headers.get("content-type") ?? "", /^application\/problem\+json/);
      assert.ok((await response.json<{ detail: string }>()).detail);
    },
  },
];
