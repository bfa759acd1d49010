import "@fontsource-variable/inter/wght.css";
import "./styles/mantine-parts.css";
import "@mantine/dropzone/styles.css";
import "@mantine/notifications/styles.css";
import "./styles/tokens.css";
import "./styles/mantine.css";
import "./styles/base.css";
import "./styles/controls.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { refreshOnReturn } from "@/api/connection";
import { createQueryClient } from "@/api/query-client";
import { meQuery } from "@/api/session";
import { Toasts } from "@/components/Toasts";
import { replaceUnknownLanguage } from "@/lib/language";
import { colorScheme, theme } from "@/lib/theme";
import { createAppRouter } from "@/routes/router";

replaceUnknownLanguage();
const client = createQueryClient(() => {
  const { pathname, href } = router.state.location;
  // The ways in say by themselves why an address does not work.
  if (["/sign-in", "/join", "/reset-password"].includes(pathname)) return;
  const ended = client.getQueryData(meQuery.queryKey) !== undefined || undefined;
  void router.navigate({ to: "/sign-in", search: { next: href, ended } });
});
refreshOnReturn(client);
const router = createAppRouter(client);

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} colorSchemeManager={colorScheme} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <Toasts />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
