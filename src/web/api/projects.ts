/** The projects that traces are in. */
import { useQuery } from "@tanstack/react-query";
import { call } from "./http.ts";

export interface Project {
  id: string;
  name: string;
}

/** The workspace's projects, the one with the newest run first. */
export function useProjects() {
  return useQuery({
    queryKey: ["projects"],
    queryFn: ({ signal }) =>
      call<Project[]>("GET", "/api/v1/sessions?sort_by=last_run_start_time&limit=100", undefined, signal),
  });
}
