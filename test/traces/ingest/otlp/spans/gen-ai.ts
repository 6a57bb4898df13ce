/** The conventions of OpenTelemetry for generative AI, as `@ai-sdk/otel` 1.0 and others send them. */
import { CALL, type Shape, WEATHER } from "./shape.ts";

export const GEN_AI: Shape[] = [
  {
    name: "chat gpt-4o",
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.request.temperature": 0.2,
      "gen_ai.request.reasoning.level": "low",
      "gen_ai.system_instructions": '[{"type":"text","content":"Be short."}]',
      "gen_ai.input.messages":
        '[{"role":"user","parts":[{"type":"text","content":"Weather in Oslo?"},{"type":"uri","modality":"image","uri":"https://example.com/a.png"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"call-1","name":"weather","arguments":{"city":"Oslo"}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"call-1","response":{"degrees":3}}]}]',
      "gen_ai.tool.definitions": JSON.stringify([WEATHER]),
      "gen_ai.client.operation.time_to_first_chunk": 0.5,
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.response.id": "resp-2",
      "gen_ai.response.model": "gpt-4o-2024-08-06",
      "gen_ai.usage.input_tokens": 30,
      "gen_ai.usage.output_tokens": 12,
      "gen_ai.usage.cache_read.input_tokens": 10,
      "gen_ai.usage.cache_write.input_tokens": 2,
      "gen_ai.usage.reasoning.output_tokens": 5,
      "gen_ai.output.messages":
        '[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"It is 3 degrees."}],"finish_reason":"stop"}]',
      "server.address": "api.openai.com",
      "shop.order": 17,
    },
    resource: { "service.name": "shop", "metadata.thread_id": "t-2" },
    run: {
      name: "chat gpt-4o",
      run_type: "llm",
      thread_id: "t-2",
      inputs: {
        messages: [
          { role: "system", content: "Be short." },
          {
            role: "user",
            content: [
              { type: "text", text: "Weather in Oslo?" },
              { type: "uri", modality: "image", uri: "https://example.com/a.png" },
            ],
          },
          { role: "assistant", content: "", tool_calls: [CALL] },
          { role: "tool", content: '{"degrees":3}', tool_call_id: "call-1" },
        ],
      },
      outputs: {
        messages: [
          {
            role: "assistant",
            content: [
              { type: "reasoning", reasoning: "hm" },
              { type: "text", text: "It is 3 degrees." },
            ],
            finish_reason: "stop",
          },
        ],
      },
      prompt_token_details: { cache_read: 10, cache_creation: 2 },
      completion_token_details: { reasoning: 5 },
      first_token: 500,
      metadata: {
        ls_provider: "openai",
        finish_reason: "stop",
        "service.name": "shop",
        "server.address": "api.openai.com",
        "shop.order": 17,
      },
      invocation_params: { model: "gpt-4o", reasoning_effort: "low", tools: [WEATHER] },
    },
  },
  {
    name: "chat gpt-4o",
    attributes: { "gen_ai.operation.name": "chat" },
    events: [
      {
        name: "gen_ai.client.inference.operation.details",
        attributes: {
          "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
          "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]',
        },
      },
      { name: "gen_ai.evaluation.result", attributes: { "gen_ai.evaluation.name": "short" } },
    ],
    run: {
      inputs: { messages: [{ role: "user", content: "Hi" }] },
      outputs: { messages: [{ role: "assistant", content: "Hello" }] },
      events: ["gen_ai.evaluation.result"],
    },
  },
  {
    name: "invoke_agent gpt-4o",
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "ask",
      "gen_ai.agent.id": "a-1",
      "gen_ai.conversation.id": "t-3",
      "gen_ai.output.messages":
        '[{"role":"assistant","parts":[{"type":"tool_call","id":"call-1","name":"weather","arguments":{"city":"Oslo"}},{"type":"tool_call_response","id":"call-1","response":"3"}]}]',
    },
    run: {
      name: "ask",
      run_type: "chain",
      thread_id: "t-3",
      outputs: {
        messages: [
          { role: "assistant", content: "", tool_calls: [CALL] },
          { role: "tool", content: "3", tool_call_id: "call-1" },
        ],
      },
      metadata: { agent_name: "ask", agent_id: "a-1" },
    },
  },
  {
    name: "invoke_workflow crew",
    attributes: { "gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "crew" },
    resource: { "session.id": "t-4" },
    run: { name: "crew", run_type: "chain", thread_id: "t-4", metadata: { workflow_name: "crew" } },
  },
  {
    name: "execute_tool weather",
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "weather",
      "gen_ai.tool.call.id": "call-1",
      "gen_ai.tool.call.arguments": '{"city":"Oslo"}',
      "gen_ai.tool.call.result": "3",
    },
    run: { name: "weather", run_type: "tool", inputs: { city: "Oslo" }, outputs: { output: "3" } },
  },
  {
    name: "retrieval docs",
    attributes: {
      "gen_ai.operation.name": "retrieval",
      "gen_ai.retrieval.query.text": "Oslo",
      "gen_ai.retrieval.documents": '[{"id":"d-1","score":0.9}]',
    },
    run: { run_type: "retriever", inputs: { query: "Oslo" }, outputs: { documents: [{ id: "d-1", score: 0.9 }] } },
  },
];
