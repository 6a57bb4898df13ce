/** The trace routes, loaded when one of them is opened. */
import type { ViewProps } from "../page/frame.ts";
import { List } from "./List.tsx";
import { Trace } from "./Trace.tsx";

export default function Traces({ id }: ViewProps) {
  return id === undefined ? <List /> : <Trace key={id} traceId={id} />;
}
