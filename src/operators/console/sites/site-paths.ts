import type { Site } from "../../services/sites.ts";

/** The path of a page of a site. @param page its path below the site's own, such as `/settings`; by default the overview */
export const sitePath = ({ id }: Pick<Site, "id">, page = ""): string => `/console/sites/${id}${page}`;
