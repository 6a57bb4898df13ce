/** A registry as a deployment could write it: two users, each of whom sees only their own, and an application. */
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
import { Hono } from "hono";
import { setCookie } from "hono/cookie";
import { z } from "zod";
import "../../../src/runtime/install.ts";
import { START, StateGraph, StateSchema } from "@langchain/langgraph";

/** Says whose run it is. */
export const whoami = new StateGraph(new StateSchema({ who: z.string().optional() }))
  .addNode("tell", (_state, config) => {
    const { langgraph_auth_user: user } = config.configurable as { langgraph_auth_user?: { identity: string } };
    return { who: user?.identity ?? "anonymous" };
  })
  .addEdge(START, "tell")
  .compile();

export const auth = new Auth()
  .authenticate((request: Request) => {
    const { headers } = request;
    const presented = headers.get("authorization") ?? `Bearer ${headers.get("x-api-key") ?? ""}`;
    const name = /^Bearer user-(\w+)$/.exec(presented)?.[1];
    if (!name) throw new HTTPException(401, { message: "Who are you?", headers: { "www-authenticate": "Bearer" } });
    return { identity: name, permissions: ["reader", "viewer"].includes(name) ? [] : ["write"] };
  })
  .on("*", ({ value, user, permissions, action }) => {
    if (!permissions.includes("write") && !["read", "search", "get"].includes(action)) return false;
    // Reads what ada has, and changes nothing.
    if (user.identity === "viewer") return { owner: "ada" };
    const given = value as { metadata?: Record<string, unknown> };
    given.metadata = { ...given.metadata, owner: user.identity };
    return { owner: user.identity };
  })
  .on("store", ({ value, user }) => {
    const given = value as { namespace: string[] };
    given.namespace = [user.identity, ...given.namespace];
  });

export const app = new Hono()
  .use("*", async (c, next) => {
    await next();
    c.header("x-pack", "yes");
  })
  .use("*", async (c, next) => {
    c.header("x-tenant", "one");
    const reads = c.req.header("x-reads");
    if (reads === "json") await c.req.json();
    if (reads === "form") await c.req.parseBody();
    if (reads === "raw") await c.req.raw.text();
    if (reads === "replaces") {
      const body = { ...(await c.req.json<object>()), metadata: { added: "by middleware" } };
      c.req.raw = new Request(c.req.raw.url, {
        method: "POST",
        headers: c.req.raw.headers,
        body: JSON.stringify(body),
      });
    }
    await next();
  })
  .get("/signed-in", (c) => {
    setCookie(c, "sid", "one");
    return Response.json({ in: true });
  })
  .get("/hello/:name", (c) => c.json({ hello: c.req.param("name") }))
  .post("/runs/special", (c) => c.json({ special: true }));
