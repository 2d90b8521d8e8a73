use std::{fmt, str::FromStr, sync::Arc};

use sensetree_core::{Error, Fusion, Result};
use serde::{Deserialize, Serialize};

use crate::{DistributionBased, MinMax, RRF_K, Rrf, alpha};

/// A fusion rule by name, for settings files and command lines.
///
/// In a file it is a table with `rule` and the numbers of that rule; a number that is left out has its default, an unknown key is
/// refused:
///
/// ```toml
/// fusion = { rule = "min-max", alpha = 0.6 }
/// ```
///
/// On a command line it is a short text: `rrf`, `min-max` or `distribution-based` (or `dbsf`), and after a colon the alpha, and for
/// RRF the k: `min-max:0.6`, `rrf:k=20`, `rrf:0.6,k=20`. [`Display`](fmt::Display) writes that form.
///
/// ```
/// use sensetree_fusion::FusionRule;
///
/// let rule: FusionRule = "min-max:0.6".parse()?;
/// assert_eq!(rule, FusionRule::MinMax { alpha: 0.6 });
/// let fusion = rule.build()?; // for the builder of a pipeline
/// # assert_eq!(fusion.name(), "min-max");
/// # Ok::<(), sensetree_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum FusionRule {
    /// [`Rrf`].
    Rrf {
        /// The rank constant, above 0.
        #[serde(default = "usual_k")]
        k: f64,
        /// The weight of the dense leg, in [0, 1]; none: both legs weigh 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alpha: Option<f64>,
    },
    /// [`MinMax`].
    MinMax {
        /// The weight of the dense leg, in [0, 1].
        #[serde(default = "even")]
        alpha: f64,
    },
    /// [`DistributionBased`].
    DistributionBased {
        /// The weight of the dense leg, in [0, 1].
        #[serde(default = "even")]
        alpha: f64,
    },
}

fn usual_k() -> f64 {
    RRF_K
}

fn even() -> f64 {
    alpha::EVEN
}

impl Default for FusionRule {
    fn default() -> Self {
        Self::Rrf { k: RRF_K, alpha: None }
    }
}

impl FusionRule {
    /// The rule itself.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when a number is out of its range.
    pub fn build(self) -> Result<Arc<dyn Fusion>> {
        Ok(match self {
            Self::Rrf { k, alpha: None } => Arc::new(Rrf::new(k)?),
            Self::Rrf { k, alpha: Some(alpha) } => Arc::new(Rrf::new(k)?.alpha(alpha)?),
            Self::MinMax { alpha } => Arc::new(MinMax::default().alpha(alpha)?),
            Self::DistributionBased { alpha } => Arc::new(DistributionBased::default().alpha(alpha)?),
        })
    }
}

impl FromStr for FusionRule {
    type Err = Error;

    /// # Errors
    /// [`Error::InvalidInput`] when the text names no rule, or a number is missing, unknown to the rule or out of its range.
    fn from_str(text: &str) -> Result<Self> {
        let refused = |why: String| {
            Error::invalid(format!(
                "the fusion rule {text:?} {why}; one of these is: rrf, rrf:0.6, rrf:k=20, min-max:0.6, dbsf:0.5"
            ))
        };
        let (name, numbers) = text.trim().split_once(':').map_or((text.trim(), None), |(name, numbers)| (name, Some(numbers)));
        let (mut given_alpha, mut given_k) = (None, None);
        for number in numbers.into_iter().flat_map(|numbers| numbers.split(',')) {
            let (key, value) = number.split_once('=').unwrap_or(("alpha", number));
            let value: f64 = value.trim().parse().map_err(|_| refused(format!("has {value:?} where a number belongs")))?;
            let place = match key.trim() {
                "alpha" => &mut given_alpha,
                "k" if name == "rrf" => &mut given_k,
                other => return Err(refused(format!("has no {other:?}"))),
            };
            if place.replace(value).is_some() {
                return Err(refused(format!("gives {key} twice")));
            }
        }
        let rule = match name {
            "rrf" => Self::Rrf { k: given_k.unwrap_or(RRF_K), alpha: given_alpha },
            "min-max" => Self::MinMax { alpha: given_alpha.unwrap_or(alpha::EVEN) },
            "distribution-based" | "dbsf" => Self::DistributionBased { alpha: given_alpha.unwrap_or(alpha::EVEN) },
            _ => return Err(refused("is not known".to_owned())),
        };
        rule.build()?;
        Ok(rule)
    }
}

impl fmt::Display for FusionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Rrf { k, alpha: None } if *k == RRF_K => "rrf".to_owned(),
            Self::Rrf { k, alpha: None } => format!("rrf:k={k}"),
            Self::Rrf { k, alpha: Some(alpha) } if *k == RRF_K => format!("rrf:{alpha}"),
            Self::Rrf { k, alpha: Some(alpha) } => format!("rrf:{alpha},k={k}"),
            Self::MinMax { alpha } => format!("min-max:{alpha}"),
            Self::DistributionBased { alpha } => format!("distribution-based:{alpha}"),
        };
        // Through `pad`, so that a table can give it a width.
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settings_file_names_a_rule_and_what_it_leaves_out_has_its_default() {
        for (json, rule) in [
            (r#"{"rule": "rrf"}"#, FusionRule::default()),
            (r#"{"rule": "rrf", "k": 20, "alpha": 0.6}"#, FusionRule::Rrf { k: 20.0, alpha: Some(0.6) }),
            (r#"{"rule": "min-max"}"#, FusionRule::MinMax { alpha: 0.5 }),
            (r#"{"rule": "distribution-based", "alpha": 1}"#, FusionRule::DistributionBased { alpha: 1.0 }),
        ] {
            assert_eq!(serde_json::from_str::<FusionRule>(json).expect("a known rule"), rule);
            let written = serde_json::to_string(&rule).expect("a rule can be written");
            assert_eq!(serde_json::from_str::<FusionRule>(&written).expect("and read back"), rule);
        }
    }

    #[test]
    fn unknown_keys_and_rules_are_refused_by_name() {
        for (json, said) in [
            (r#"{"rule": "min-max", "alhpa": 0.6}"#, "alhpa"),
            (r#"{"rule": "min-max", "k": 60}"#, "`k`"),
            (r#"{"rule": "borda"}"#, "borda"),
            (r#"{"alpha": 0.6}"#, "rule"),
        ] {
            let error = serde_json::from_str::<FusionRule>(json).expect_err("it makes no sense").to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_short_text_names_a_rule_and_reads_back_what_was_written() {
        for (text, rule, written) in [
            ("rrf", FusionRule::default(), "rrf"),
            ("rrf:0.6", FusionRule::Rrf { k: 60.0, alpha: Some(0.6) }, "rrf:0.6"),
            ("rrf:k=20", FusionRule::Rrf { k: 20.0, alpha: None }, "rrf:k=20"),
            ("rrf:k=20,alpha=0.6", FusionRule::Rrf { k: 20.0, alpha: Some(0.6) }, "rrf:0.6,k=20"),
            (" min-max ", FusionRule::MinMax { alpha: 0.5 }, "min-max:0.5"),
            ("min-max:0.6", FusionRule::MinMax { alpha: 0.6 }, "min-max:0.6"),
            ("dbsf:alpha=1", FusionRule::DistributionBased { alpha: 1.0 }, "distribution-based:1"),
        ] {
            assert_eq!(text.parse::<FusionRule>().expect("a known rule"), rule, "{text}");
            assert_eq!(rule.to_string(), written);
            assert_eq!(written.parse::<FusionRule>().expect("what was written"), rule, "{written}");
        }
    }

    #[test]
    fn a_text_that_makes_no_sense_is_refused_with_the_reason() {
        for (text, said) in [
            ("borda", "not known"),
            ("", "not known"),
            ("min-max:", "where a number belongs"),
            ("min-max:much", "\"much\""),
            ("min-max:1.5", "must be in [0, 1]"),
            ("dbsf:NaN", "must be in [0, 1]"),
            ("min-max:k=60", "has no \"k\""),
            ("rrf:k=0", "above 0"),
            ("rrf:0.5,alpha=0.6", "twice"),
        ] {
            let error = text.parse::<FusionRule>().expect_err("it makes no sense");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(said)), "{text}: {error}");
        }
    }

    #[test]
    fn the_rule_that_is_built_is_the_one_that_was_named() {
        for (rule, built) in [
            (FusionRule::default(), "Rrf { k: 60.0, alpha: None }"),
            (FusionRule::Rrf { k: 20.0, alpha: Some(0.6) }, "Rrf { k: 20.0, alpha: Some(0.6) }"),
            (FusionRule::MinMax { alpha: 0.6 }, "MinMax { alpha: 0.6 }"),
            (FusionRule::DistributionBased { alpha: 0.4 }, "DistributionBased { alpha: 0.4 }"),
        ] {
            assert_eq!(format!("{:?}", rule.build().expect("numbers in range")), built);
        }
        for rule in [FusionRule::MinMax { alpha: f64::NAN }, FusionRule::Rrf { k: -1.0, alpha: None }] {
            assert!(matches!(rule.build(), Err(Error::InvalidInput(_))));
        }
    }
}
