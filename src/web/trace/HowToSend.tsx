/** A list with nothing in it says what to do about it. */
import { SERVER } from "../api/server.ts";
import { Link } from "wouter";
import { Notice } from "../chat/Empty.tsx";
import { Button } from "../ui/Button.tsx";

export function HowToSend() {
  const lines = [
    "LANGSMITH_TRACING=true",
    `LANGSMITH_ENDPOINT=${SERVER}`,
    "LANGSMITH_API_KEY=<an API key of this workspace>",
    "LANGSMITH_PROJECT=<a name>",
  ];
  return (
    <Notice title="No traces here yet." text="A program that uses a LangSmith SDK sends its traces here with these:">
      <pre>{lines.join("\n")}</pre>
      <p>
        An OpenTelemetry exporter sends them to <code>{SERVER}/otel/v1/traces</code>, with the key in the header{" "}
        <code>x-api-key</code>. The agents of this server need nothing: <Link href="/">talk to one</Link>.
      </p>
    </Notice>
  );
}

export function NoMatch({ failed, onClear }: { failed: boolean; onClear: () => void }) {
  return (
    <Notice
      title={failed ? "No failed traces." : "No trace matches."}
      text={failed ? "Every trace of this project went well, or is still under way." : "The project has none like it."}
    >
      <div>
        <Button onClick={onClear}>Show all traces</Button>
      </div>
    </Notice>
  );
}
