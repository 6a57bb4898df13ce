/** A supervisor that delegates to subagents through a `task` tool. Each subagent has its own namespace. */
import { tool } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { toolLoop } from "./loop.ts";
import { ENV, type ModelEnv, type ModelSettings, readSettings } from "./model.ts";
import { calculator, currentTime } from "./tools.ts";

const prompts = {
  supervisor: "You lead a small team. Split the question into tasks, hand them out with the task tool, and sum up.",
  researcher: "You collect facts for a colleague. Be brief, and say what you could not find out.",
  critic: "You look for weak points and open questions in a subject, for a colleague. Be brief.",
};

/** The `task` tool: runs the chosen subagent on the description alone and gives back its last words. */
function taskTool(env: ModelEnv) {
  const tools = [calculator, currentTime];
  const subagents = {
    researcher: toolLoop(env, { name: "researcher", tools, prompt: prompts.researcher }),
    critic: toolLoop(env, { name: "critic", tools, prompt: prompts.critic }),
  };
  return tool(
    async ({ description, subagent_type }, config: LangGraphRunnableConfig<ModelSettings>) => {
      // The team leader's own prompt must not become the subagent's.
      const { model, temperature } = readSettings(config);
      const context = { model, temperature, system_prompt: undefined };
      const messages = [{ role: "user" as const, content: description }];
      const result = await subagents[subagent_type].invoke({ messages }, { ...config, context });
      return result.messages.at(-1)?.text ?? "";
    },
    {
      name: "task",
      description: "Hands a task to a subagent, which sees nothing but the description, and returns its report.",
      schema: z.object({
        description: z.string().describe("The whole task, with all it needs to know."),
        subagent_type: z
          .enum(["researcher", "critic"])
          .describe("researcher collects facts; critic finds weak points."),
      }),
    },
  );
}

export const research = (_config: unknown, env: ModelEnv = ENV) =>
  toolLoop(env, { name: "research", tools: [taskTool(env)], prompt: prompts.supervisor });
