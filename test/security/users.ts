/** Users of a deployment's own `Auth` for the tests of this folder, and a graph that returns who runs it. */
import "../../src/runtime/install.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { START, StateGraph, StateSchema } from "@langchain/langgraph";
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
import { z } from "zod";
import { app } from "../support/app.ts";
import { graphs, projectExports } from "../../src/deployment.ts";

export type Json = Record<string, unknown>;

/** Writes every identity that the graph can read into its state. */
export const whoami = new StateGraph(new StateSchema({ who: z.unknown().optional() }))
  .addNode("tell", (_state, { configurable = {}, context = {} }) => {
    const { user_id, langgraph_auth_user, langgraph_auth_user_id, langgraph_auth_permissions, thread_id } =
      configurable;
    const known = (context as Json).langgraph_auth_user;
    const { identity } = (langgraph_auth_user ?? {}) as Json;
    return { who: { user_id, identity, langgraph_auth_user_id, langgraph_auth_permissions, known, thread_id } };
  })
  .addEdge(START, "tell")
  .compile();

/** Refused by the handlers from now on. */
export const banned = new Set<string>();

/** Each user sees what has their name as `owner`. The Store is free, unless a test brings a handler of its own. */
export const ownAuth = () =>
  new Auth()
    .authenticate((request: Request) => {
      const name = /^Bearer user-([\w.@-]+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
      if (!name) throw new HTTPException(401, { message: "Who are you?" });
      return { identity: name, permissions: ["write"] };
    })
    .on("*", ({ value, user }) => {
      if (banned.has(user.identity)) return false;
      const given = value as { metadata?: Json };
      given.metadata = { ...given.metadata, owner: user.identity };
      return { owner: user.identity };
    })
    .on("store", () => true);

/** Deploys the graph `whoami` and an `Auth`. */
export function deployUsers(auth: object = ownAuth()): void {
  Object.assign(projectExports, { auth });
  Object.assign(graphs, { whoami });
}

export type User = ReturnType<typeof userCalled>;

/** A user and their calls. */
export function userCalled(name: string) {
  const headers = { "content-type": "application/json", authorization: `Bearer user-${name}` };
  const fetch = async (
    path: string,
    body?: unknown,
    method = body === undefined ? "GET" : "POST",
    more: object = {},
  ) => {
    const init = {
      method,
      headers: { ...headers, ...more },
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    return app.fetch(new Request(`https://weir.test${path}`, init), env, createExecutionContext());
  };
  const json = async <T = Json>(path: string, body?: unknown, method?: string): Promise<T> => {
    const response = await fetch(path, body, method);
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response.json<T>();
  };
  return { name, fetch, json };
}
