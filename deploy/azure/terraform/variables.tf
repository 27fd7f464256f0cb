variable "account" {
  description = "Name of the storage account."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9]{3,24}$", var.account))
    error_message = "Names of storage accounts have 3 to 24 lower-case letters and digits."
  }
}

variable "resource_group_name" {
  description = "Resource group, which exists."
  type        = string
}

variable "replication" {
  description = "Redundancy of the account: LRS, ZRS, GRS, RAGRS, GZRS or RAGZRS."
  type        = string
  default     = "ZRS"
  validation {
    condition     = contains(["LRS", "ZRS", "GRS", "RAGRS", "GZRS", "RAGZRS"], var.replication)
    error_message = "Give LRS, ZRS, GRS, RAGRS, GZRS or RAGZRS."
  }
}

variable "hierarchical_namespace" {
  description = "Hierarchical namespace: directories with permissions of their own."
  type        = bool
  default     = false
}

variable "container" {
  description = "The container where shippers create segments."
  type        = string
  default     = "logs"
  validation {
    condition     = length(var.container) >= 3 && length(var.container) <= 53
    error_message = "Names have 3 to 53 characters: longer names of compacted containers are cut."
  }
}

variable "readers" {
  description = "Object IDs of the users, groups or identities that may read all logs."
  type        = set(string)
  default     = []
}

variable "watchers" {
  description = "Object IDs of the readers that may also make shippers flush early (docs/security.md, Watches)."
  type        = set(string)
  default     = []
}

variable "oidc_issuer" {
  description = "OIDC issuer of an AKS cluster whose service accounts use the identities. Empty: none."
  type        = string
  default     = ""
}

variable "namespace" {
  description = "Namespace of the chart's release in that cluster."
  type        = string
  default     = "logstow"
}

variable "subnet_id" {
  description = "Subnet of private endpoints. Empty: none, and the account is reached publicly."
  type        = string
  default     = ""
}

variable "private_dns_zone_ids" {
  description = "Private DNS zones by service: blob, table, and dfs with a hierarchical namespace."
  type        = map(string)
  default     = {}
}

variable "cool_after_days" {
  description = "Days after which compacted segments move to the cool tier, which charges at least 30 days. 0: never."
  type        = number
  default     = 0
}

variable "container_app_environment_id" {
  description = "Container Apps environment of the jobs compact and retain. Empty: none, they run elsewhere."
  type        = string
  default     = ""
}

variable "image" {
  description = "Image of shipper, for the jobs."
  type        = string
  default     = ""
}

variable "keep" {
  description = "Retention of the default class, for the job retain."
  type        = string
  default     = "30d"
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
