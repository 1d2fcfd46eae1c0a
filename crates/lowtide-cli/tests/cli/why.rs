//! `lowtide why`: its figures, and what it says for each kind of answer.

use serde_json::json;

use crate::common::{Folder, array, corpus, number, run, tiny};

#[test]
fn values_at_the_moment_of_a_proof_add_up() {
    let input = corpus();
    let scheduled = run("schedule {} --json --nodes 2000", &[&input]).json();
    let mut proofs = 0;
    for kernel in array(&scheduled["kernels"]) {
        let name = kernel["name"].as_str().expect("a name");
        let answers = run(&format!("why {name} {{}} --json --nodes 2000"), &[&input]).json();
        for answer in array(&answers) {
            assert_eq!(answer["waves"], kernel["occupancy"], "{name}");
            assert_eq!(answer["waves_bound"], kernel["occupancy_bound"], "{name}");
            let lengths: u64 = array(&kernel["regions"]).iter().map(|region| number(&region["length"])).sum();
            assert_eq!(number(&answer["length"]), lengths, "{name}");
            let is_at_most = answer["waves"] == answer["most_waves"];
            assert_eq!(is_at_most, answer["next"].is_null(), "{name}");
            if is_at_most {
                continue;
            }
            let limits = array(&answer["next"]["limits"]);
            assert!(!limits.is_empty(), "{name}: something is in the way of more waves");
            for limit in limits {
                assert!(number(&limit["used"]) > number(&limit["allowed"]), "{limit}");
                assert!(number(&limit["needed"]) <= number(&limit["used"]), "{limit}");
                let proof = &limit["proof"];
                assert_eq!(proof.is_null(), number(&limit["needed"]) <= number(&limit["allowed"]), "{limit}");
                if proof["moment"].is_string() {
                    let values: u64 =
                        array(&proof["values"]).iter().map(|value| number(&value["registers"])).sum();
                    assert_eq!(values + number(&proof["through"]), number(&proof["pressure"]), "{limit}");
                    proofs += 1;
                }
            }
        }
    }
    assert!(proofs > 20, "{proofs} proofs by cuts");
}

#[test]
fn answers_are_in_words() {
    let input = corpus();
    let text = run("why m00900_m16 {} --nodes 2000", &[&input]).ok();
    // Long lines are broken between words.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "m00900_m16 on gfx906: 3 waves\nMore are impossible: no order of its instructions allows 4 waves.\n",
        "With 4 waves, a wave can have 64 vgpr. Region bb22.13 (8 instructions, loop depth 2) uses 65.\n",
        "Every order needs at least 65: at the end, 65 vgpr are live whatever comes before:\n  1 x %",
        "\n  52 that are live throughout the region\n",
        "So 4 waves take 1 register less there, and less in these regions too:\n  bb24.15: at least 65 vgpr\n",
        "\nThe production order: 3 waves, ",
        "--kernel m00900_m16",
    ] {
        assert!(flat(&text).contains(&flat(part)), "{part:?} is not in:\n{text}");
    }
    assert!(text.contains("\n  1 x %") && text.contains("\n  bb24.15: at least 65 vgpr\n"), "{text}");
    assert!(text.lines().count() <= 40, "more than a screen:\n{text}");

    let text = run("why _Z5ld_trILj128ELj8EEvPxS0_ {} --nodes 2000", &[&input]).ok();
    assert!(flat(&text).contains("limited to 6 waves by other things than registers"), "{text}");

    let folder = Folder::new();
    let mut region = tiny("small", "bb0");
    region.as_object_mut().expect("an object").remove("production");
    let file = folder.regions("tiny.jsonl", &[region]);
    let text = run("why small {}", &[&file]).ok();
    assert!(text.contains("More are impossible: the GPU holds 10 waves."), "{text}");
    assert!(text.contains("\nThe source order: 10 waves"), "{text}");
    assert_eq!(run("why small {} --json", &[&file]).json()[0]["next"], json!(null));
}

#[test]
fn one_kernel_is_explained_at_a_time() {
    let input = corpus();
    let error = run("why rsort {} --nodes 10", &[&input]).error();
    assert!(error.contains("several kernels have \"rsort\" in their names: _Z5rsortILj256"), "{error}");
    let error = run("why nothing {}", &[&input]).error();
    assert!(error.contains("no kernel has \"nothing\" in its name"), "{error}");
}
