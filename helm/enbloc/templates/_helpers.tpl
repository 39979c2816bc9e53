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

{{/* What selects the pods of a process; immutable for ever. Takes (dict "root" $ "process" …). */}}
{{- define "enbloc.selector" -}}
app.kubernetes.io/name: {{ include "enbloc.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .process | quote }}
{{- end }}

{{/* The labels of every object. */}}
{{- define "enbloc.labels" -}}
{{ include "enbloc.selector" . }}
app.kubernetes.io/part-of: enbloc
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
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

{{/* "true" when a process has a PodDisruptionBudget. */}}
{{- define "enbloc.hasBudget" -}}
{{- $values := index .root.Values .process }}
{{- $enabled := $values.podDisruptionBudget.enabled | toString }}
{{- if or (eq $enabled "true") (and (eq $enabled "auto") (gt (int $values.replicas) 1)) }}true{{ end }}
{{- end }}

{{/* The scheduler's Lease: of its own for each release in a namespace. */}}
{{- define "enbloc.schedulerLease" -}}
{{- $election := default dict .Values.scheduler.config.leaderElection }}
{{- default (printf "%s-scheduler" (include "enbloc.fullname" .)) $election.resourceName }}
{{- end }}

{{/* What the scheduler reads: both documents. */}}
{{- define "enbloc.configuration" -}}
{{- $config := deepCopy .Values.scheduler.config }}
{{- $lease := include "enbloc.schedulerLease" . }}
{{- if ne $lease "enbloc-scheduler" }}
{{- $election := merge (dict "resourceName" $lease) (default dict $config.leaderElection) }}
{{- $config = set $config "leaderElection" $election }}
{{- end -}}
{{ toYaml $config }}
---
{{ toYaml .Values.config }}
{{- end }}
