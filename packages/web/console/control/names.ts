import { useAssistants } from "../../api/queries.ts";

/** The name of an assistant by its id; the start of the id while it is not known. A graph is named by its own id. */
export function useAssistantNames(): (assistant: string) => string {
  const { data } = useAssistants();
  return (assistant) =>
    data?.find(({ assistant_id }) => assistant_id === assistant)?.name ??
    (assistant.length === 36 ? assistant.slice(0, 8) : assistant);
}
