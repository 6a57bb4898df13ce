import { describe, expect, it } from "vitest";
import { send } from "../support/caller.ts";

describe("public information", () => {
  it("is whether the server and its database answer", async () => {
    for (const path of ["/ok", "/ok?check_db=1", "/ok?check_db=0"]) {
      expect(await (await send(path)).json()).toEqual({ ok: true });
    }
    expect((await send("/ok?check_db=maybe")).status).toBe(422);
  });

  it("is what the server is and can do", async () => {
    expect(await (await send("/info")).json()).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      langgraph_js_version: expect.stringMatching(/^1\./),
      context: "js",
      flags: { assistants: true, crons: true, langsmith: true, a2a: true, agui: true, mcp: true, store_search: "text" },
      batch_ingest_config: { use_multipart_endpoint: true, size_limit: expect.any(Number) },
    });
  });
});
