{{/* The name of the chart, as a label. */}}
{{- define "enbloc.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The stem of every object's name. */}}
{{- define "enbloc.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := include "enbloc.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "enbloc.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{/* The Deployments, a JSON object: {"processes": […]}. In mode combined the scheduler's runs both. */}}
{{- define "enbloc.deployments" -}}
{{- $one := or (eq .Values.mode "combined") (not .Values.controller.enabled) }}
{{- dict "processes" (ternary (list "scheduler") (list "scheduler" "controller") $one) | toJson }}
{{- end }}

{{/* The processes that have roles, likewise. */}}
{{- define "enbloc.processes" -}}
{{- $one := and (eq .Values.mode "separate") (not .Values.controller.enabled) }}
{{- dict "processes" (ternary (list "scheduler") (list "scheduler" "controller") $one) | toJson }}
{{- end }}

{{/* Whose pods run a process. Takes (dict "root" $ "process" …). */}}
{{- define "enbloc.runner" -}}
{{- ternary "scheduler" .process (eq .root.Values.mode "combined") }}
{{- end }}

{{/* What selects the pods of a process; immutable for ever. Takes (dict "root" $ "process" …). */}}
{{- define "enbloc.selector" -}}
app.kubernetes.io/name: {{ include "enbloc.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .process | quote }}
{{- end }}

{{/* The labels of every object; a label of the user's never replaces one of ours. */}}
{{- define "enbloc.labels" -}}
{{- $ours := include "enbloc.selector" . | fromYaml }}
{{- $ours = merge $ours (dict
    "app.kubernetes.io/part-of" "enbloc"
    "app.kubernetes.io/version" .root.Chart.AppVersion
    "app.kubernetes.io/managed-by" .root.Release.Service
    "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")) }}
{{- toYaml (merge $ours .root.Values.commonLabels) }}
{{- end }}

{{/* The metadata of most objects: <fullname>-<process>. Takes (dict "root" $ "process" …). */}}
{{- define "enbloc.metadata" -}}
name: {{ printf "%s-%s" (include "enbloc.fullname" .root) .process | quote }}
namespace: {{ include "enbloc.namespace" .root | quote }}
labels:
  {{- include "enbloc.labels" . | nindent 2 }}
{{- end }}

{{- define "enbloc.serviceAccountName" -}}
{{- $own := printf "%s-%s" (include "enbloc.fullname" .root) .process }}
{{- $account := (index .root.Values .process).serviceAccount }}
{{- if $account.create }}
{{- default $own $account.name }}
{{- else }}
{{- required (printf "%s.serviceAccount.name: name the account to use, or set create: true" .process) $account.name }}
{{- end }}
{{- end }}

{{- define "enbloc.image" -}}
{{- $image := .Values.image }}
{{- $repository := $image.repository }}
{{- with .Values.global.imageRegistry }}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}
{{- end }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{/* A security context without the IDs that OpenShift's constraints assign. Takes (dict "root" $ "context" …). */}}
{{- define "enbloc.securityContext" -}}
{{- $adapt := .root.Values.global.compatibility.openshift.adaptSecurityContext }}
{{- if or (eq $adapt "force") (and (eq $adapt "auto") (.root.Capabilities.APIVersions.Has "security.openshift.io/v1")) }}
{{- toYaml (omit .context "runAsUser" "runAsGroup" "fsGroup") }}
{{- else }}
{{- toYaml .context }}
{{- end }}
{{- end }}

{{/* "true" when a process has a PodDisruptionBudget. */}}
{{- define "enbloc.hasBudget" -}}
{{- $values := index .root.Values .process }}
{{- $enabled := $values.podDisruptionBudget.enabled | toString }}
{{- if or (eq $enabled "true") (and (eq $enabled "auto") (gt (int $values.replicas) 1)) }}true{{ end }}
{{- end }}

{{/* "true" when an object of a kind that others bring is rendered. Takes (dict "root" $ "key" … "kind" …). */}}
{{- define "enbloc.renders" -}}
{{- $values := index .root.Values .key }}
{{- if $values.enabled }}
{{- $there := .root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind) }}
{{- if or $there (eq $values.renderMode "alwaysRender") }}true
{{- else if eq $values.renderMode "failIfMissing" }}
{{- fail (printf "%s.enabled: the cluster does not serve %s of monitoring.coreos.com/v1: install the Prometheus Operator, or set %s.renderMode to skipIfMissing, or to alwaysRender where helm sees no cluster" .key .kind .key) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The schedulerName that the examples of NOTES and the test use: the first profile's. */}}
{{- define "enbloc.schedulerName" -}}
{{- $profiles := default list .Values.scheduler.config.profiles }}
{{- $first := ternary dict (first $profiles) (empty $profiles) }}
{{- default "enbloc" $first.schedulerName }}
{{- end }}

{{/* Every schedulerName that is served, a JSON object: {"names": […]}. */}}
{{- define "enbloc.schedulerNames" -}}
{{- $names := list }}
{{- range default (list dict) .Values.scheduler.config.profiles }}
{{- $names = append $names (default "enbloc" .schedulerName) }}
{{- end }}
{{- dict "names" (concat $names .Values.scheduler.extraSchedulerNames) | toJson }}
{{- end }}

{{/* The scheduler's Lease, a JSON object: {"name": …, "namespace": …}. One that serves pods without a
     schedulerName competes with kube-scheduler, so it takes kube-scheduler's. */}}
{{- define "enbloc.schedulerLease" -}}
{{- $given := default dict .Values.scheduler.config.leaderElection }}
{{- $default := has "default-scheduler" (include "enbloc.schedulerNames" . | fromJson).names }}
{{- $own := ternary "kube-scheduler" (printf "%s-scheduler" (include "enbloc.fullname" .)) $default }}
{{- $namespace := ternary "kube-system" (include "enbloc.namespace" .) $default }}
{{- dict "name" (default $own $given.resourceName) "namespace" (default $namespace $given.resourceNamespace) | toJson }}
{{- end }}

{{/* The controller's Lease, likewise; `enbloc run` derives it from the scheduler's. */}}
{{- define "enbloc.controllerLease" -}}
{{- $lease := dict "name" (printf "%s-controller" (include "enbloc.fullname" .)) "namespace" (include "enbloc.namespace" .) }}
{{- if eq .Values.mode "combined" }}
{{- $lease = include "enbloc.schedulerLease" . | fromJson }}
{{- $derived := and (hasSuffix "-scheduler" $lease.name) (ne $lease.name "kube-scheduler") }}
{{- $_ := set $lease "name" (printf "%s-controller" (ternary (trimSuffix "-scheduler" $lease.name) "enbloc" $derived)) }}
{{- end }}
{{- toJson $lease }}
{{- end }}

{{/* What the scheduler reads: both documents. */}}
{{- define "enbloc.configuration" -}}
{{- $values := .Values.scheduler }}
{{- $config := deepCopy $values.config }}
{{- $elect := $values.leaderElection.enabled }}
{{- $given := default dict $config.leaderElection }}
{{- if and (kindIs "bool" $given.leaderElect) (ne $elect $given.leaderElect) }}
{{- fail (printf "scheduler.config.leaderElection.leaderElect: is %t, and scheduler.leaderElection.enabled is %t; set the latter alone" (not $elect) $elect) }}
{{- end }}
{{- $lease := include "enbloc.schedulerLease" . | fromJson }}
{{- $election := dict "leaderElect" $elect "resourceName" $lease.name }}
{{- $_ := set $election "leaseDuration" $values.leaderElection.leaseDuration }}
{{- $_ := set $election "renewDeadline" $values.leaderElection.renewDeadline }}
{{- $_ := set $election "retryPeriod" $values.leaderElection.retryPeriod }}
{{- if ne $lease.namespace (include "enbloc.namespace" .) }}
{{- $_ := set $election "resourceNamespace" $lease.namespace }}
{{- end }}
{{- $_ := set $config "leaderElection" (merge (omit $given "leaderElect") $election) }}
{{- with $values.extraSchedulerNames }}
{{- $names := (include "enbloc.schedulerNames" $ | fromJson).names }}
{{- if ne (len $names) (len (uniq $names)) }}
{{- fail (printf "scheduler.extraSchedulerNames: each schedulerName must be named once, here or by a profile; named are: %s" (join ", " $names)) }}
{{- end }}
{{- $profiles := default (list dict) $config.profiles }}
{{- $first := first $profiles }}
{{- if eq (len $profiles) 1 }}
{{- $_ := set $first "schedulerName" (default "enbloc" $first.schedulerName) }}
{{- end }}
{{- range . }}
{{- $profiles = append $profiles (set (deepCopy $first) "schedulerName" .) }}
{{- end }}
{{- $_ := set $config "profiles" $profiles }}
{{- end -}}
{{ toYaml $config }}
---
{{ toYaml .Values.config }}
{{- end }}

{{/* "true" where the pods of a process serve admission webhooks. Takes (dict "root" $ "process" …). */}}
{{- define "enbloc.servesWebhooks" -}}
{{- $admission := .root.Values.admission }}
{{- $asked := and $admission.enabled (eq $admission.mode "webhook") }}
{{- $runs := eq .process (include "enbloc.runner" (dict "root" .root "process" "controller")) }}
{{- and $asked $runs }}
{{- end }}

{{- define "enbloc.webhookSecret" -}}
{{- default (printf "%s-webhook" (include "enbloc.fullname" .)) .Values.admission.webhook.secretName }}
{{- end }}
