/** The trace routes, loaded when one of them is opened. */
import { List } from "./List.tsx";
import { Trace } from "./Trace.tsx";

export default function Traces({ traceId }: { traceId: string | undefined }) {
  return traceId === undefined ? <List /> : <Trace key={traceId} traceId={traceId} />;
}
