/** `/graphs`: the deployed graphs, and whether the threads of a workspace continue on those of another bundle. */
import * as v from "valibot";
import { Hono } from "hono";
import { createDoc } from "../http/route.ts";
import type { App } from "../http/context.ts";
import { body } from "../http/validate.ts";
import { checkThreads } from "../system/deploys/routes.ts";
import { describeGraphs } from "./graphs.ts";
import { CheckGraphs, CheckPage, DescribedGraph } from "../system/deploys/schema.ts";

const doc = createDoc("Deploys");

const Graphs = v.object({ graphs: v.record(v.string(), DescribedGraph) });

export const deploys = new Hono<App>()
  .get("/", doc("The deployed graphs: their shapes, fingerprints and migrations", Graphs), async (c) =>
    c.json({ graphs: await describeGraphs(c.env) }),
  )
  .post(
    "/check",
    doc("Which threads cannot continue on other graphs, a page", CheckPage),
    body(CheckGraphs),
    async (c) => c.json(await checkThreads(c.env, c.get("principal").workspaceId, c.req.valid("json"))),
  );
