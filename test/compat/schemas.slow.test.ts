/** JSON Schemas from the types of a project, at both ends of the supported versions. */
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProject } from "../../src/cli/project/project.ts";
import { extractSchemas } from "../../src/cli/schema-extract.ts";
import { installProject } from "./project.ts";

const GRAPHS = {
  typed: "./typed.ts:graph",
  builder: "./graphs.ts:builder",
  outer: "./graphs.ts:outer",
  functional: { path: "./graphs.ts:functional", description: "as an object" },
  script: "./plain.js:graph",
  chat: "./typed.ts:chat",
  absent: "./typed.ts:nothing",
};

const messages = { type: "array", items: { type: "object" }, langgraph_type: "messages" };
const notes = { type: "array", items: { type: "string" } };

const typed = { model: { type: "string" }, tries: { type: "number" } };
/** The types of LangGraph 0.2 name the members of a configuration, and not what they hold. */
const named = { model: expect.anything(), tries: expect.anything() };

describe.each([
  ["0.2.57", { "@langchain/core": "0.3.40", zod: "3.23.8" }, named],
  ["1.7.3", { zod: "4.4.3" }, typed],
])("LangGraph %s", (version, others, settings) => {
  it.each(["nodenext", undefined])("gives the schemas that the types declare, with module %s", async (module) => {
    const dir = installProject(version, { "@langchain/langgraph": version, ...others });
    for (const file of ["graphs.ts", "typed.ts"]) cpSync(join(import.meta.dirname, "fixture", file), join(dir, file));
    writeFileSync(join(dir, "langgraph.json"), JSON.stringify({ graphs: GRAPHS }));
    const tsconfig = join(dir, "tsconfig.json");
    if (module) writeFileSync(tsconfig, JSON.stringify({ compilerOptions: { module, target: "es2022" } }));
    else rmSync(tsconfig, { force: true });

    const schemas = extractSchemas(await findProject(dir));
    expect(Object.keys(schemas).sort()).toEqual(["builder", "chat", "functional", "outer", "typed"]);
    for (const graph of ["builder", "outer"]) {
      expect(schemas[graph]?.state).toEqual({
        type: "object",
        properties: { messages, notes },
        required: ["messages", "notes"],
      });
      expect(schemas[graph]?.input).toEqual({ type: "object", properties: { messages, notes } });
    }
    const nested = { type: "object", properties: { messages, notes }, required: ["messages", "notes"] };
    expect(schemas.builder?.subgraphs).toMatchObject({ nested: { state: nested } });
    expect(schemas.outer?.subgraphs).toMatchObject({ sub: { state: nested } });
    expect(schemas.functional?.input).toMatchObject({ properties: { text: { type: "string" } }, required: ["text"] });
    expect(schemas.functional?.output).toMatchObject({ properties: { message: { type: "object" } } });
    expect(schemas.typed?.input).toEqual({
      type: "object",
      properties: {
        topic: { type: "string" },
        depth: { type: "string", enum: ["deep", "shallow"] },
        when: { type: "string", format: "date-time" },
        plan: {
          type: "object",
          properties: {
            steps: {
              type: "array",
              items: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
            },
          },
          required: ["steps"],
        },
      },
    });
    expect(schemas.chat?.input).toEqual({ type: "object", properties: { messages } });
    expect(schemas.typed?.config).toMatchObject({ properties: settings });
  });
});
