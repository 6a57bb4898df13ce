/** The projects that traces are in. */
import { useQuery } from "@tanstack/react-query";
import { callFor } from "./http.ts";
import { projectsRequest } from "./requests.ts";

export interface Project {
  id: string;
  name: string;
}

/** The workspace's projects, the one with the newest run first. */
export function useProjects() {
  return useQuery({
    queryKey: ["projects"],
    queryFn: ({ signal }) => callFor<Project[]>(projectsRequest, signal),
  });
}
