/** Public LangGraph.js projects that Weir is tried with, unmodified. */

export interface Project {
  /** `owner/name` on GitHub. */
  repository: string;
  /** The commit that the table is about. */
  ref: string;
  /** The folder of langgraph.json; the repository's own if left out. */
  dir?: string;
  /** The graphs to run with their inputs. A message to the first graph if left out. */
  runs?: Record<string, unknown>;
  /** Set for the run, beside the keys of the fake provider: what the project's README asks to fill in. */
  env?: Record<string, string>;
  /** The service without which a run cannot complete. */
  needs?: string;
  /** What the project does that no Worker can. */
  impossible?: string;
}

const EMAIL = {
  id: "1",
  thread_id: "1",
  from: "Ann <ann@example.com>",
  from_email: "ann@example.com",
  to: "Bob <bob@example.com>",
  to_email: "bob@example.com",
  author: "Ann <ann@example.com>",
  subject: "Lunch",
  page_content: "Shall we have lunch on Friday?",
  email_thread: "Shall we have lunch on Friday?",
  send_time: "2026-01-01T12:00:00Z",
};
const says = (content: string) => ({ messages: [{ role: "user", content }] });
const COOKBOOK = { repository: "langchain-ai/streaming-cookbook", ref: "8c63965" };
const LANGGRAPHJS = { repository: "langchain-ai/langgraphjs", ref: "f8bdf16d4" };
const COPILOT = { repository: "CopilotKit/CopilotKit", ref: "e9387e0483" };

export const PROJECTS: Project[] = [
  { repository: "langchain-ai/new-langgraphjs-project", ref: "4a1247c" },
  { repository: "langchain-ai/react-agent-js", ref: "39f5b5f" },
  { repository: "langchain-ai/langgraphjs-studio-starter", ref: "cd9a02c" },
  {
    repository: "langchain-ai/agents-from-scratch-ts",
    ref: "e2b3cc3",
    runs: { emailAssistant: { email_input: EMAIL }, hitlEmailAssistant: { email_input: EMAIL } },
  },
  { repository: "langchain-ai/memory-agent-js", ref: "5fa7532" },
  {
    repository: "langchain-ai/retrieval-agent-template-js",
    ref: "7b3dde7",
    needs: "a vector store (Elasticsearch, MongoDB or Pinecone)",
  },
  {
    repository: "langchain-ai/data-enrichment-js",
    ref: "46a181b",
    runs: {
      agent: { topic: "Cloudflare", extractionSchema: { type: "object", properties: { name: { type: "string" } } } },
    },
  },
  {
    repository: "langchain-ai/langgraphjs-gen-ui-examples",
    ref: "2b0c122",
    runs: { chat: says("Hello"), agent: says("Hello") },
  },
  { repository: "langchain-ai/open-canvas", ref: "0310cec", runs: { agent: says("Write a poem about rivers.") } },
  {
    repository: "langchain-ai/social-media-agent",
    ref: "a9cdce8",
    runs: { reflection: { originalPost: "Hello", newPost: "Hi", userResponse: "Shorter" } },
  },
  { ...COOKBOOK, dir: "typescript/a2ui" },
  { ...COOKBOOK, dir: "typescript/multimodal" },
  { ...COOKBOOK, dir: "typescript/openui" },
  { ...COOKBOOK, dir: "typescript/shadcn", impossible: "its agent runs shell commands (`LocalShellBackend`)" },
  { ...COOKBOOK, dir: "typescript/streaming" },
  { ...COOKBOOK, dir: "typescript/ui-react" },
  { ...COOKBOOK, dir: "typescript/ui-svelte" },
  { ...COOKBOOK, dir: "typescript/ui-vue" },
  { ...LANGGRAPHJS, dir: "examples/ai-elements" },
  { ...LANGGRAPHJS, dir: "examples/assistant-ui-claude" },
  { ...LANGGRAPHJS, dir: "examples/ui-react" },
  { repository: "CopilotKit/with-langgraph-js", ref: "cc67ec1", dir: "apps/agent" },
  { ...COPILOT, dir: "examples/integrations/langgraph-js/agent" },
  { ...COPILOT, dir: "examples/showcases/langgraph-js-support-agents/apps/agent" },
  { ...COPILOT, dir: "showcase/integrations/langgraph-typescript/src/agent" },
  { repository: "langchain-ai/deepagentsjs", ref: "c0bc7692", dir: "examples/async-subagents/parallel-research" },
  { repository: "assistant-ui/assistant-ui", ref: "1263c1fb8", dir: "templates/langchain" },
  { repository: "1329576606/langgraphjs-demo", ref: "ab6d05d" },
  { repository: "langchain-ai/agent-inbox-langgraphjs-example", ref: "98916ef" },
  { repository: "warden-protocol/community-agents", ref: "c73edd0", dir: "agents/langgraph-quick-start" },
  { repository: "michaelgreenl/langgraph-ts-template", ref: "8155f1f" },
  { repository: "ddewaele/langgraph-platform-simple-agent", ref: "f8a17ba" },
  {
    repository: "nickwinder/oap-langgraphjs-tools-agent",
    ref: "dc6e01b",
    needs: "its `auth` asks Supabase for each user",
  },
  {
    repository: "Abby263/flowpost",
    ref: "4b7e08b",
    runs: { reflection: { originalPost: "Hello", newPost: "Hi", userResponse: "Shorter" } },
    needs: "a LangMem server, which its reflection graph asks",
  },
];
