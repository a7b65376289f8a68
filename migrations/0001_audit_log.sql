CREATE TABLE `audit_log` (
	`id` integer PRIMARY KEY NOT NULL,
	`site_id` integer,
	`at` integer NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`subject` text NOT NULL,
	`details` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_log_by_site` ON `audit_log` (`site_id`);--> statement-breakpoint
CREATE INDEX `sessions_by_customer` ON `sessions` (`customer_id`);