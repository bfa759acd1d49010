import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./client";

/** One cache for the page. Requests are repeated only after network errors; any 401 asks to sign in. */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (error instanceof ApiError && error.status === 401) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        networkMode: "always",
        refetchOnWindowFocus: true,
        staleTime: 2_000,
        retry: (failures, error) =>
          failures < 3 && error instanceof ApiError && (error.offline || error.status === 503),
      },
      mutations: { networkMode: "always", retry: false },
    },
  });
}
