/** What runs cost, as their traces have it: the server knows the prices of models. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { useMay } from "../../api/me.ts";
import { together } from "../../traces/feedback/together.ts";

interface Traced {
  id: string;
  end_time: string | null;
  total_cost: string | null;
}

/** A trace is stored after its run: of a run that has just ended it is read again, milliseconds. */
const AGAIN_MS = 2_000;
const LATELY_MS = 60_000;
/** A trace that is not stored by then is not stored at all, or was deleted. */
const MOST_READS = LATELY_MS / AGAIN_MS;

const readTraced = together<Traced | undefined>(async (ids) => {
  const query = { id: ids, select: ["id", "end_time", "total_cost"], limit: ids.length };
  const { runs } = await call<{ runs: Traced[] }>("POST", "/api/v1/runs/query", query);
  return new Map(runs.map((run) => [run.id, run]));
});

/** US dollars for all these runs; undefined where it is not known, or the model has no price. `at`: when the last ended. */
export function useCost(runs: string[], wanted: boolean, at: string | undefined): number | undefined {
  const may = useMay();
  const cost = useQuery({
    queryKey: ["cost", ...runs],
    enabled: wanted && runs.length > 0 && may("traces.read"),
    queryFn: async () => {
      const traced = await Promise.all(runs.map(readTraced));
      const isStored = traced.every((run) => typeof run?.end_time === "string");
      return { isStored, total: traced.reduce((sum, run) => sum + Number(run?.total_cost ?? 0), 0) };
    },
    staleTime: Infinity,
    refetchInterval: ({ state: { data, dataUpdateCount } }) => {
      const isLate = at !== undefined && Date.now() - Date.parse(at) > LATELY_MS;
      return data?.isStored === false && !isLate && dataUpdateCount < MOST_READS && AGAIN_MS;
    },
  });
  return cost.data?.isStored && cost.data.total > 0 ? cost.data.total : undefined;
}
